/** Work that is repeated in rounds. `prepare` and `clear` are called around a round and are not counted. */
export interface Work {
  readonly run: () => Promise<unknown>
  readonly prepare?: () => Promise<unknown>
  readonly clear?: () => Promise<unknown>
}

/** A workload: both sides do the same work once, which is this number of units. */
export interface Workload {
  readonly name: string
  readonly unit: string
  readonly units: number
  readonly handWritten: () => Promise<unknown>
  readonly troupe: () => Promise<unknown>
  /** Called after each round of our side. */
  readonly clear?: () => Promise<unknown>
}

/** Main-thread CPU in microseconds per unit, and its ratio to the hand-written loop. */
export interface Measured {
  readonly name: string
  readonly unit: string
  readonly handWritten: number
  readonly troupe: number
  readonly ratio: number
}

const ROUNDS = 15
const ROUND_MS = 150

/** Measures both sides alternately and takes the medians, so that a busy machine slows both alike. */
export async function measure({ name, unit, units, handWritten, troupe, clear }: Workload): Promise<Measured> {
  const rounds = await measureInTurn([{ run: handWritten }, { run: troupe, ...(clear && { clear }) }])
  const [loop, ours] = mediansOf(rounds) as [number, number]
  return {
    name,
    unit,
    handWritten: loop / units,
    troupe: ours / units,
    ratio: median(rounds.map(([loop, ours]) => (ours as number) / (loop as number))),
  }
}

/** Measures the main-thread CPU of each work in microseconds, round by round; every other round goes backwards. */
export async function measureInTurn(works: readonly Work[]): Promise<readonly (readonly number[])[]> {
  for (const work of works) await timesPerRound(work)
  const times: number[] = []
  for (const work of works) times.push(await timesPerRound(work))
  const rounds: (readonly number[])[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const round: number[] = []
    for (const at of i % 2 ? [...works.keys()].reverse() : works.keys()) {
      round[at] = await cpu(works[at] as Work, times[at] as number)
    }
    rounds.push(round)
  }
  return rounds
}

/** The median of each column. */
export function mediansOf(rounds: readonly (readonly number[])[]): readonly number[] {
  return (rounds[0] ?? []).map((_, at) => median(rounds.map((round) => round[at] as number)))
}

/**
 * Finds out how often work fits into a round; the first call also warms it up.
 * CPU time decides, because on a busy machine the wall clock goes on while this process waits.
 */
async function timesPerRound(work: Work): Promise<number> {
  for (let times = 1; ; times *= 2) {
    const took = ((await cpu(work, times)) * times) / 1_000
    if (took > ROUND_MS / 2) return Math.ceil((times * ROUND_MS) / took)
  }
}

async function cpu({ run, prepare, clear }: Work, times: number): Promise<number> {
  await prepare?.()
  const before = process.threadCpuUsage()
  for (let i = 0; i < times; i++) await run()
  const { user, system } = process.threadCpuUsage(before)
  await clear?.()
  return (user + system) / times
}

/** The median of numbers. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
}
