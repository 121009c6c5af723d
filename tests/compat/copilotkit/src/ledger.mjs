import { inspect } from 'node:util'

const LIMIT_MS = 20_000

/** Runs checks one by one and prints a line for each; what the packages say meanwhile is shown for those that fail. */
export class Ledger {
  passed = 0
  failed = 0
  #aside = []
  #stray = []

  constructor() {
    for (const level of ['error', 'warn']) console[level] = (...words) => void this.#aside.push(words)
    process.on('unhandledRejection', (error) => void this.#stray.push(error))
  }

  async check(name, run) {
    const begun = performance.now()
    let timer
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${LIMIT_MS / 1_000} s`)), LIMIT_MS)
    })
    this.#aside.length = 0
    this.#stray.length = 0
    try {
      await Promise.race([run(), late])
      await new Promise((resolve) => setImmediate(resolve))
      if (this.#stray.length > 0) throw new Error('a rejection that nobody handles', { cause: this.#stray[0] })
      this.passed++
      console.log(`ok    ${name} (${Math.round(performance.now() - begun)} ms)`)
    } catch (error) {
      this.failed++
      const lines = [error, ...this.#aside.flat()].map((word) => (typeof word === 'string' ? word : inspect(word)))
      console.log(`FAIL  ${name}\n${lines.join('\n').replaceAll(/^/gm, '      ')}`)
    } finally {
      clearTimeout(timer)
    }
  }
}
