import type { Effect } from '../conversation/effects.ts'
import { LineFile } from '../conversation/line-file.ts'

/** A process has taken the thread of a run. */
interface LeaseLine {
  readonly runId: string
  readonly token: number
  readonly pid: number
  /** When, in milliseconds of a clock that does not jump. */
  readonly at: number
}

/** The leases that processes took, in a file that they share. */
export class LeaseFile {
  readonly #lines: LineFile<LeaseLine>

  /** `effects` is the file for the effects of tools. */
  constructor(effects: string) {
    this.#lines = new LineFile(`${effects}.leases`)
  }

  add(runId: string, token: number): void {
    this.#lines.add({ runId, token, pid: process.pid, at: performance.timeOrigin + performance.now() })
  }

  /** The runs that a second process took. */
  get takenOver(): readonly string[] {
    const lines = this.#lines.all()
    const first = new Map<string, number>()
    for (const { runId, pid } of lines) if (!first.has(runId)) first.set(runId, pid)
    return [...new Set(lines.filter(({ runId, pid }) => first.get(runId) !== pid).map(({ runId }) => runId))]
  }

  /** The effects that a process began when another one had taken its thread. */
  staleAmong(effects: readonly Effect[]): readonly Effect[] {
    const lines = this.#lines.all()
    return effects.filter(({ runId, pid, began }) => {
      const last = lines.findLast((line) => line.runId === runId && line.at < began)
      return last !== undefined && last.pid !== pid
    })
  }
}
