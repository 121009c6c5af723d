import { measure, type Workload } from './measure.ts'

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
  'a transfer, router to specialist': 10,
  'a delta through one flow': 1.9,
  'a one-turn agent as a tool, beside the agent alone': 4,
  'a call of an MCP tool, beside the SDK alone': 3.4,
  'a delta as AG-UI, on a thread in memory': 3.5,
  'a delta over HTTP, on a thread in memory': 1.5,
  'a delta over HTTP, on a thread in SQLite': 2.6,
  'a delta over HTTP, on a thread in memory, one by one': 3.4,
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
    held &&= ratio <= most
    console.log(`| ${name} | ${ratio.toFixed(2)}x | ${most}x | ${ratio <= most ? 'held' : 'OVER'} |`)
  }
  return held
}
