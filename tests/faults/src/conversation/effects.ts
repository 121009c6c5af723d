import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** A side effect of one tool call. */
export interface Effect {
  /** The idempotency key of the call. */
  readonly key: string
  readonly callId: string
  /** The outermost run of its tool. */
  readonly runId: string
  /** When its tool began, in milliseconds of a clock that does not jump. */
  readonly began: number
  /** The process of its tool. */
  readonly pid: number
}

/** The side effects of tools, in a file, so that they survive the process that caused them. */
export class Effects {
  readonly file: string

  constructor(file: string) {
    this.file = file
  }

  add(effect: Effect): void {
    appendFileSync(this.file, `${JSON.stringify(effect)}\n`)
  }

  all(): readonly Effect[] {
    if (!existsSync(this.file)) return []
    const lines = readFileSync(this.file, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Effect)
  }
}
