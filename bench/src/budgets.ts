import type { EventCost } from './http/many-readers.ts'
import { measure, type Workload } from './measure.ts'
import { stackRatios } from './stack/stack-tables.ts'

/**
 * The largest ratio to the hand-written loop that each workload may have: about 1.7 times today's, so that noise passes and a
 * regression of 2x does not. These are ratios, because times differ from machine to machine.
 */
const budgets: Readonly<Record<string, number>> = {
  'one short run, iterated': 6.8,
  'one short run, awaited': 4.6,
  'a streamed delta': 2.5,
  'one turn, awaited': 8,
  'one turn, streamed': 7,
  'ten tool steps and an answer': 3.8,
  'a streamed delta of 5,000': 1.7,
  '1,000 concurrent three-step runs': 6.5,
  'a turn on 1,000 prior messages': 3,
  // The hand-written transfer takes 1.6 or 2.8 µs, depending on how it was compiled; ours takes 17.
  'a transfer, router to specialist': 15,
  'a delta through one flow': 1.9,
  'a one-turn agent as a tool, beside the agent alone': 4,
  'a turn with budget() with prices alone': 2,
  'a turn with budget() below a limit per run': 2.6,
  'a turn with guardrails() that find nothing': 2.5,
  'a turn with redaction() that finds nothing': 2.7,
  'a turn with memory() that knows nothing': 2,
  'a turn with otel(), without an SDK': 2.6,
  'a turn with otel(), with a batching SDK': 8.5,
  // At most 2 µs beside a turn of some 4 µs.
  'a turn with compaction(), idle': 1.7,
  'a turn with toolSearch(), idle': 1.5,
  'a turn with offload(), idle': 1.7,
  'a turn with promptCache(), idle': 1.4,
  'a call of an MCP tool, beside the SDK alone': 3.4,
  'a call to an MCP server, 2026-07-28, beside the SDK alone': 6.4,
  'a call to an MCP server, in a session, beside the SDK alone': 8,
  'a delta as AG-UI, on a thread in memory': 3.5,
  'a delta over HTTP, on a thread in memory': 1.5,
  'a delta over HTTP, on a thread in SQLite': 2.6,
  'a delta over HTTP, on a thread in memory, one by one': 3.4,
}

/** The same for whole turns, by `title, name` of the tables of `pnpm bench stack`. */
const stackBudgets: Readonly<Record<string, number>> = {
  "SQLite: a turn on an empty thread, Troupe, `durability: 'turn'`": 7,
  "SQLite: a turn on an empty thread, Troupe, `durability: 'turn'`, written": 2,
  "SQLite: a turn on an empty thread, Troupe, `durability: 'step'`": 14,
  "SQLite: a turn on an empty thread, Troupe, `'turn'`, with records": 15,
  "SQLite: a turn on 10,000 messages, Troupe, `'turn'`": 11,
  "SQLite: the first turn of a process on 10,000 messages, Troupe, `'turn'`, a new process": 3,
  "SQLite: 1,000 turns on one thread, Troupe, `'turn'`": 9,
  "PostgreSQL: a turn on an empty thread, Troupe, `durability: 'turn'`": 8,
  "PostgreSQL: a turn on an empty thread, Troupe, `durability: 'step'`": 15,
  "PostgreSQL: a turn on an empty thread, Troupe, `'turn'`, with records": 19,
  "PostgreSQL: a turn on 10,000 messages, Troupe, `'turn'`": 7,
  "PostgreSQL: the first turn of a process on 10,000 messages, Troupe, `'turn'`, a new process": 3.5,
  "PostgreSQL: 1,000 turns on one thread, Troupe, `'turn'`": 9,
}

/** The largest ratio to a bare server that an event may have on a server with 50 readers and a delta every ten milliseconds. */
const READERS: Readonly<Record<EventCost['kind'], number>> = { bare: 1, memory: 4, sqlite: 5, postgres: 6.5 }

/** Compares what events cost with their budgets; true if all are held. */
export function checkReaders(costs: readonly EventCost[]): boolean {
  console.log('\n| 50 readers, one delta every 10 ms | ratio | at most | |\n|---|---|---|---|')
  for (const { kind, ratio } of costs) {
    console.log(`| ${kind} | ${ratio.toFixed(2)}x | ${READERS[kind]}x | ${ratio <= READERS[kind] ? 'held' : 'OVER'} |`)
  }
  return costs.every(({ kind, ratio }) => ratio <= READERS[kind])
}

/** Measures every workload with a budget, a second time if it is over; true if all budgets are held. */
export async function checkBudgets(workloads: readonly Workload[], only = ''): Promise<boolean> {
  const byName = new Map(workloads.map((workload) => [workload.name, workload]))
  let held = true
  console.log('| workload | ratio | at most | |\n|---|---|---|---|')
  for (const [name, most] of Object.entries(budgets).filter(([budgeted]) => budgeted.includes(only))) {
    const workload = byName.get(name)
    if (!workload)
      throw new Error(`bench: there is a budget for ${JSON.stringify(name)}, but no workload of this name.`)
    const first = (await measure(workload)).ratio
    const ratio = first > most ? Math.min(first, (await measure(workload)).ratio) : first
    held = isHeld(name, ratio, most) && held
  }
  return held
}

/** Measures the tables of whole turns, a second time if one is over its budget; true if all budgets are held. */
export async function checkStackBudgets(only = ''): Promise<boolean> {
  const budgeted = Object.entries(stackBudgets).filter(([name]) => name.includes(only))
  if (budgeted.length === 0) return true
  const first = await stackRatios()
  const ratioOf = (ratios: ReadonlyMap<string, number>, name: string) => {
    const ratio = ratios.get(name)
    if (ratio === undefined) throw new Error(`bench: there is a budget for ${JSON.stringify(name)}, but no such row.`)
    return ratio
  }
  const isOver = budgeted.some(([name, most]) => ratioOf(first, name) > most)
  const second = isOver ? await stackRatios() : first
  let held = true
  for (const [name, most] of budgeted) {
    held = isHeld(name, Math.min(ratioOf(first, name), ratioOf(second, name)), most) && held
  }
  return held
}

function isHeld(name: string, ratio: number, most: number): boolean {
  console.log(`| ${name} | ${ratio.toFixed(2)}x | ${most}x | ${ratio <= most ? 'held' : 'OVER'} |`)
  return ratio <= most
}
