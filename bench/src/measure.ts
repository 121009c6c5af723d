/** One thing to measure: what is done once, and how many units of work that is. */
export interface Workload {
  readonly name: string
  readonly unit: string
  readonly units: number
  readonly handWritten: () => Promise<unknown>
  readonly troupe: () => Promise<unknown>
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

/** Measures both sides in turn, round by round, each first in every other round, and takes the medians: a busy machine hits both alike. */
export async function measure({ name, unit, units, handWritten, troupe }: Workload): Promise<Measured> {
  for (const work of [handWritten, troupe]) await enough(work)
  const often = { handWritten: await enough(handWritten), troupe: await enough(troupe) }
  const rounds: { readonly handWritten: number; readonly troupe: number }[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const early = i % 2 ? (await cpu(troupe, often.troupe)) / units : undefined
    const loop = (await cpu(handWritten, often.handWritten)) / units
    rounds.push({ handWritten: loop, troupe: early ?? (await cpu(troupe, often.troupe)) / units })
  }
  return {
    name,
    unit,
    handWritten: median(rounds.map((round) => round.handWritten)),
    troupe: median(rounds.map((round) => round.troupe)),
    ratio: median(rounds.map((round) => round.troupe / round.handWritten)),
  }
}

/**
 * How often work is done in a round; the first time this warms it up.
 * CPU time decides: on a busy machine the wall clock runs on while we do not, and a round of two cold runs measures nothing.
 */
async function enough(work: () => Promise<unknown>): Promise<number> {
  for (let times = 1; ; times *= 2) {
    const took = ((await cpu(work, times)) * times) / 1_000
    if (took > ROUND_MS / 2) return Math.ceil((times * ROUND_MS) / took)
  }
}

async function cpu(work: () => Promise<unknown>, times: number): Promise<number> {
  const before = process.threadCpuUsage()
  for (let i = 0; i < times; i++) await work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / times
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
}
