/** Measures one side in this process and prints JSON: `worker.mjs <side> <sequence|concurrent> <times>`. run.mjs starts it. */
import { cpu, measure } from './measure.mjs'
import { concurrent, workloads } from './workloads.mjs'

const [, , name, part, times] = process.argv
const side = await import(`./sides/${name}.mjs`)
const results = {}

if (part === 'concurrent') {
  const many = concurrent.work(side)
  results.concurrent = (await cpu(many, concurrent.expected, 1)) / 1_000
  // Kilobytes on every system.
  results.peakMb = process.resourceUsage().maxRSS / 1_024
  const { warmMs, roundMs } = JSON.parse(times)
  results.warm = (await measure(many, concurrent.expected, { warmMs: 5 * warmMs, roundMs })) / 1_000
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
// Some frameworks leave timers running.
process.stdout.write(`\n${JSON.stringify(results)}\n`, () => process.exit(0))
