import { readFileSync } from 'node:fs'

/** CPU in microseconds of this process, all its threads, and of the processes of a database server that work for it. */
export class StackCpu {
  readonly #backends: (() => Promise<readonly number[]>) | undefined

  /** `backends` gives the ids of the server's processes; they must be on this machine. */
  constructor(backends?: () => Promise<readonly number[]>) {
    this.#backends = backends
  }

  /** Measures work. */
  async of(work: () => Promise<void>): Promise<number> {
    const before = await this.#served()
    const began = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(began)
    const after = await this.#served()
    let served = 0
    for (const [pid, micros] of after) served += micros - (before.get(pid) ?? 0)
    return user + system + served
  }

  async #served(): Promise<ReadonlyMap<number, number>> {
    const pids = (await this.#backends?.()) ?? []
    return new Map(pids.map((pid) => [pid, onCpu(pid)]))
  }
}

/** The first number of `schedstat` is the time on a CPU in nanoseconds. */
function onCpu(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000
  } catch {
    return 0
  }
}

/** The bytes that this process has written so far; NaN where the system does not tell. */
export function bytesWritten(): number {
  try {
    return Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  } catch {
    return Number.NaN
  }
}
