import { median } from '../measure.ts'
import { bytesWritten, type StackCpu } from './stack-cpu.ts'
import { ANSWER, nextId } from './stack-script.ts'
import type { StackSide } from './stack-side.ts'

const ROUNDS = 9

/** A side with its name. */
export interface NamedSide {
  readonly name: string
  readonly side: StackSide
}

/** What one turn costs on a side. */
export interface TurnCost {
  readonly name: string
  /** Milliseconds of CPU. */
  readonly cpu: number
  /** To the first side of the same round. */
  readonly ratio: number
  readonly bytes: number
}

/** Measures turns on threads of `length` messages; the sides take turns, round by round. Contract: a side keeps its threads if they are long. */
export async function measureTurns(
  sides: readonly NamedSide[],
  length: number,
  turns: number,
  { cpu, analyze }: { readonly cpu: StackCpu; analyze(): Promise<unknown> },
): Promise<readonly TurnCost[]> {
  const long = new Map<NamedSide, string>()
  const threadsOf = async (named: NamedSide): Promise<readonly string[]> => {
    const kept = long.get(named)
    if (kept !== undefined) return Array.from({ length: turns }, () => kept)
    const threads = Array.from({ length: length === 0 ? turns : 1 }, nextId)
    for (const thread of threads) await named.side.seed(thread, length)
    if (length === 0) return threads
    long.set(named, threads[0] as string)
    return threadsOf(named)
  }
  const rounds: { cpu: number; bytes: number }[][] = []
  for (let round = -2; round < ROUNDS; round++) {
    if (round === 0) await analyze()
    const costs: { cpu: number; bytes: number }[] = []
    for (const at of round % 2 ? [...sides.keys()].reverse() : sides.keys()) {
      const named = sides[at] as NamedSide
      const threads = await threadsOf(named)
      const before = bytesWritten()
      const micros = await cpu.of(() => talk(named, threads))
      costs[at] = { cpu: micros / turns / 1_000, bytes: (bytesWritten() - before) / turns }
    }
    if (round >= 0) rounds.push(costs)
  }
  return sides.map(({ name }, at) => ({
    name,
    cpu: median(rounds.map((costs) => costs[at]?.cpu as number)),
    ratio: median(rounds.map((costs) => (costs[at]?.cpu as number) / (costs[0]?.cpu as number))),
    bytes: median(rounds.map((costs) => costs[at]?.bytes as number)),
  }))
}

/** The CPU in milliseconds of a conversation, and how it grows: 1 if each turn costs the same. */
export async function measureGrowth(
  { name, side }: NamedSide,
  turns: number,
  cpu: StackCpu,
): Promise<{ readonly total: number; readonly exponent: number }> {
  const thread = nextId()
  await side.seed(thread, 0)
  const part = (count: number) =>
    cpu.of(() =>
      talk(
        { name, side },
        Array.from({ length: count }, () => thread),
      ),
    )
  const first = await part(turns / 10)
  const total = first + (await part(turns - turns / 10))
  return { total: total / 1_000, exponent: Math.log10(total / first) }
}

async function talk({ name, side }: NamedSide, threads: readonly string[]): Promise<void> {
  for (const thread of threads) {
    const text = await side.turn(thread)
    if (text !== ANSWER) throw new Error(`bench: ${name} said ${text}`)
  }
}
