import { inspect } from 'node:util'

const LIMIT_MS = 20_000

/** Runs checks one by one and prints a line for each; if one fails, it also prints what the packages have logged meanwhile. */
export class CheckRunner {
  passed = 0
  failed = 0
  #logged = []
  #rejections = []

  constructor() {
    for (const level of ['error', 'warn']) console[level] = (...words) => void this.#logged.push(words)
    process.on('unhandledRejection', (error) => void this.#rejections.push(error))
  }

  async check(name, run) {
    const startedAt = performance.now()
    let timer
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${LIMIT_MS / 1_000} s`)), LIMIT_MS)
    })
    this.#logged.length = 0
    this.#rejections.length = 0
    try {
      await Promise.race([run(), late])
      await new Promise((resolve) => setImmediate(resolve))
      if (this.#rejections.length > 0) throw new Error('unhandled rejection', { cause: this.#rejections[0] })
      this.passed++
      console.log(`ok    ${name} (${Math.round(performance.now() - startedAt)} ms)`)
    } catch (error) {
      this.failed++
      const lines = [error, ...this.#logged.flat()].map((word) => (typeof word === 'string' ? word : inspect(word)))
      console.log(`FAIL  ${name}\n${lines.join('\n').replaceAll(/^/gm, '      ')}`)
    } finally {
      clearTimeout(timer)
    }
  }
}
