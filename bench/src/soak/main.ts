/** A day of mixed traffic in ten minutes: `pnpm bench:soak [--minutes 10]`. */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { median } from '../measure.ts'
import type { Sample } from './server.ts'
import { soakedServer } from './server-process.ts'
import { LAST_VISITS, type Sums, VISITS } from './visits.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } })
const minutes = Math.min(60, Number(values.minutes))
const SAMPLES = 60
/** Clients that visit at the same time. */
const LANES = 12
/** A thread takes so many visits at most, and is left alone before it expires. */
const VISITS_OF_A_THREAD = 15
const THREAD_MS = 5_000
/** By how much the heap may grow in the second half; less cannot be told from noise. */
const GROWTH = 0.05

const names = Object.keys(VISITS)
const counts = new Map(names.map((name) => [name, 0]))
const failures: string[] = []
const sums: Sums = { runs: 0, paid: 0, pings: 0 }
const below = (end: number) => Math.floor(Math.random() * end)

const server = await soakedServer()
const began = performance.now()
const until = began + minutes * 60_000

async function lane(): Promise<void> {
  while (performance.now() < until) {
    const threadId = crypto.randomUUID()
    const old = performance.now() + THREAD_MS
    for (let visits = 1 + below(VISITS_OF_A_THREAD); visits > 0; visits--) {
      if (performance.now() > Math.min(old, until)) break
      const name = names[below(names.length)] as string
      try {
        await VISITS[name]?.({ url: server.url, threadId, sums, below })
        counts.set(name, (counts.get(name) ?? 0) + 1)
      } catch (error) {
        failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
        break
      }
      if (LAST_VISITS.has(name)) break
    }
  }
}

const samples: (Sample & { readonly runs: number })[] = []
const lanes = Promise.all(Array.from({ length: LANES }, lane))
while (performance.now() < until) {
  await pause((minutes * 60_000) / SAMPLES)
  samples.push({ ...(await server.sample()), runs: sums.runs })
}
await lanes
const last = await server.stop()

const half = samples.slice(samples.length >> 1)
const bytesPerRun = slope(half.map(({ runs, heap }) => [runs, heap]))
const growth = (bytesPerRun * ((half.at(-1)?.runs ?? 0) - (half[0]?.runs ?? 0))) / median(half.map(({ heap }) => heap))
const megabytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1)
const heaps = (some: readonly Sample[]) => megabytes(median(some.map(({ heap }) => heap)))
const rss = (some: readonly Sample[]) => megabytes(median(some.map((sample) => sample.rss)))
const quarter = samples.length >> 2
const row = (name: string, of: (some: readonly Sample[]) => string) =>
  `| ${name} | ${[0, 1, 2, 3].map((i) => of(samples.slice(i * quarter, (i + 1) * quarter))).join(' | ')} |`
console.log(
  `${minutes} minutes, ${sums.runs.toLocaleString('en')} runs, ${sums.pings.toLocaleString('en')} keep-alives`,
)
console.log(`\n| median of a quarter | first | second | third | last |\n|---|---|---|---|---|`)
console.log(row('heap after gc, MB', heaps))
console.log(row('RSS, MB', rss))
console.log(
  `\nIn the second half the heap grows by ${(growth * 100).toFixed(1)} %, ${bytesPerRun.toFixed(0)} bytes a run.`,
)
console.log(`Visits: ${[...counts].map(([name, count]) => `${name} ${count}`).join(', ')}`)
console.log(`Reported by the server: ${JSON.stringify(last.reports)}`)

const wrong = [
  ...failures.slice(0, 10),
  ...(failures.length > 10 ? [`and ${failures.length - 10} failures more`] : []),
  ...[...counts].filter(([, count]) => count === 0).map(([name]) => `no ${name}`),
  // Each has time for two; a machine that is busy elsewhere may leave one out.
  ...(sums.pings >= (counts.get('thinking') ?? 0) ? [] : [`${sums.pings} keep-alives`]),
  ...(growth > GROWTH ? ['the heap is not flat'] : []),
  ...(last.recorded === sums.runs ? [] : [`${last.recorded} of ${sums.runs} runs are recorded`]),
  ...(last.paid === sums.paid ? [] : [`${last.paid} payments for ${sums.paid} approvals`]),
  ...(last.active === 0 && last.timers === 0 ? [] : [`left are ${last.active} runs and ${last.timers} timers`]),
]
console.log(wrong.length === 0 ? '\nok' : `\nFAIL\n${wrong.join('\n')}`)
process.exitCode = wrong.length === 0 ? 0 : 1

/** Of the line that lies closest to the points. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, p) => sum + of(p), 0) / points.length
  const [x, y] = [mean(([x]) => x), mean(([, y]) => y)]
  return mean((p) => (p[0] - x) * (p[1] - y)) / mean((p) => (p[0] - x) ** 2)
}
