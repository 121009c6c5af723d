import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Block, blocksOf } from '../../tests/docs/guide.fixture.ts'
import type { Machine } from './machine.ts'

/** Follows a guide on a user's machine: writes its files, types its commands and compares their output. */
export class GuideReader {
  readonly #machine: Machine
  readonly #env: readonly string[]
  #folder: string
  #printed = ''

  /** `env` are the environment variables of the reader's shell: `NAME=value`. */
  constructor(machine: Machine, folder: string, env: readonly string[] = []) {
    mkdirSync(folder, { recursive: true })
    this.#machine = machine
    this.#folder = folder
    this.#env = env
  }

  /** The current folder of the reader. */
  get folder(): string {
    return this.#folder
  }

  /** Reads a page up to a section, or to its end. Contract: throws if a command fails or its output differs from the page. */
  async read(page: string, before?: string): Promise<void> {
    const blocks = blocksOf(page)
    const end = before === undefined ? blocks.length : blocks.findIndex(({ section }) => section === before)
    if (end < 0) throw new Error(`${page}: there is no section "${before}"`)
    for (const [i, block] of blocks.slice(0, end).entries()) await this.#take(block, blocks[i + 1])
  }

  write(file: string, code: string): void {
    writeFileSync(join(this.#folder, file), code)
  }

  /** Types one line and returns its output; `input` are the lines that the reader types afterwards. */
  async type(line: string, input: readonly string[] = []): Promise<string> {
    const typed = input.length > 0 ? `(sleep 2; printf '%s\\n' ${input.join(' ')}; sleep 3) | ${line}` : line
    return await this.#machine.run(this.#folder, 'env', ...this.#env, 'sh', '-c', typed)
  }

  async #take({ kind, code, file }: Block, next: Block | undefined): Promise<void> {
    if (kind === 'text') return this.#see(code)
    if (kind !== 'sh') return file === undefined ? undefined : this.write(file, code)
    for (const line of code.trim().split('\n')) {
      const [, name] = /^(?:mkdir|cd) (\S+)$/.exec(line) ?? []
      if (name && line.startsWith('mkdir')) mkdirSync(join(this.#folder, name))
      else if (name) this.#folder = resolve(this.#folder, name)
      else if (!/^\w+_API_KEY=/.test(line)) this.#printed += await this.#answering(line, next)
    }
  }

  /** Types a line, and the answers that the page shows after its questions. */
  async #answering(line: string, next: Block | undefined): Promise<string> {
    const answers =
      next?.kind === 'text' ? [...next.code.matchAll(/\[y\/n\] (\w+)$/gm)].map(([, said = '']) => said) : []
    let printed = await this.type(line, answers)
    for (const said of answers) printed = printed.replace(/\[y\/n\] (?!\w+$)/m, `[y/n] ${said}\n`)
    return /^(npm|npx) /.test(line) ? '' : printed
  }

  #see(shown: string): void {
    if (this.#printed !== shown) throw new Error(`the guide shows\n${shown}\nand what was printed is\n${this.#printed}`)
    this.#printed = ''
  }
}
