import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'

/** What happened to a step in a process: it began, or it was stored. */
export interface StepLine {
  readonly what: 'began' | 'stored'
  /** `<runId>/<step>`. */
  readonly step: string
  readonly pid: number
  /** Set if the step must not happen twice. */
  readonly once?: true
}

/** Lines of JSON in a file that several processes append to. Contract: a line is on the disk when `add` returns. */
export class LineFile<Line> {
  readonly #path: string
  #file: number | undefined

  constructor(path: string) {
    this.#path = path
  }

  add(line: Line): void {
    this.#file ??= openSync(this.#path, 'a')
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
    fsyncSync(this.#file)
  }

  /** All lines that were written completely. */
  all(): readonly Line[] {
    if (!existsSync(this.#path)) return []
    const lines = readFileSync(this.#path, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Line)
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}
