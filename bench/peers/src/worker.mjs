/** Measures one side in this process and prints JSON: `worker.mjs <side> <sequence|concurrent> <times>`. Started by run.mjs. */
import { cpu, measure } from './measure.mjs'
import { concurrent, workloads } from './workloads.mjs'

const [, , name, part, times] = process.argv
const side = await import(`./sides/${name}.mjs`)
const results = {}

if (part === 'concurrent') {
  const { id, units, warmUp, expectedOfWarmUp, work, expected } = concurrent
  const { warmMs, roundMs } = JSON.parse(times)
  const few = warmUp(side)
  for (let warmed = 0; warmed < warmMs * 1_000; ) warmed += await cpu(few, expectedOfWarmUp, 1)
  const many = work(side)
  const first = await cpu(many, expected, 1)
  // After one burst for all: who is fast would do more of them in a round. In kilobytes, on every system.
  results.peakMb = process.resourceUsage().maxRSS / 1_024
  const isRound = first >= roundMs * 1_000
  results[id] = (isRound ? first : await measure(many, expected, { warmMs: 1, roundMs })) / units
} else {
  for (const { id, units, work, less, expected } of workloads) {
    const made = work(side)
    if (typeof made === 'string') {
      results[id] = made
      continue
    }
    const base = less ? await measure(less(side), expected, JSON.parse(times)) : 0
    results[id] = ((await measure(made, expected, JSON.parse(times))) - base) / units
  }
}
// Some frameworks leave timers behind.
process.stdout.write(`\n${JSON.stringify(results)}\n`, () => process.exit(0))
