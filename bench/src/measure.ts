/** Something that is done again and again. What stands around a round is not counted. */
export interface Work {
  readonly run: () => Promise<unknown>
  readonly prepare?: () => Promise<unknown>
  readonly clear?: () => Promise<unknown>
}

/** One thing to measure: what is done once, and how many units of work that is. */
export interface Workload {
  readonly name: string
  readonly unit: string
  readonly units: number
  readonly handWritten: () => Promise<unknown>
  readonly troupe: () => Promise<unknown>
  /** After the rounds of our side. */
  readonly clear?: () => Promise<unknown>
}

/** Main-thread CPU in microseconds per unit, and how many times the hand-written loop that is. */
export interface Measured {
  readonly name: string
  readonly unit: string
  readonly handWritten: number
  readonly troupe: number
  readonly ratio: number
}

const ROUNDS = 15
const ROUND_MS = 150

/** Measures both sides in turn and takes the medians: a busy machine hits both alike. */
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

/** Microseconds of main-thread CPU that each work takes, round by round; every other round goes backwards. */
export async function measureInTurn(works: readonly Work[]): Promise<readonly (readonly number[])[]> {
  for (const work of works) await enough(work)
  const often: number[] = []
  for (const work of works) often.push(await enough(work))
  const rounds: (readonly number[])[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const round: number[] = []
    for (const at of i % 2 ? [...works.keys()].reverse() : works.keys()) {
      round[at] = await cpu(works[at] as Work, often[at] as number)
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
 * How often work is done in a round; the first time this warms it up.
 * CPU time decides: on a busy machine the wall clock runs on while we do not, and a round of two cold runs measures nothing.
 */
async function enough(work: Work): Promise<number> {
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

/** The one in the middle. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
}
