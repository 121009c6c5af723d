/** Simulates a day of mixed traffic in ten minutes: `pnpm bench:soak [--minutes 10]`. */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { median } from '../measure.ts'
import type { Sample } from './server.ts'
import { serverProcess } from './server-process.ts'
import { LAST_VISITS, type Totals, VISITS } from './visits.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } })
const minutes = Math.min(60, Number(values.minutes))
const SAMPLES = 60
/** Clients at the same time. */
const LANES = 12
/** The most visits of one thread, and how long it is used, so that it can expire afterwards. */
const VISITS_OF_A_THREAD = 15
const THREAD_MS = 5_000
/** How much the heap may grow in the second half; less than that is noise. */
const GROWTH = 0.05

const names = Object.keys(VISITS)
const counts = new Map(names.map((name) => [name, 0]))
const failures: string[] = []
const totals: Totals = { runs: 0, paid: 0, pings: 0 }
const below = (end: number) => Math.floor(Math.random() * end)

const server = await serverProcess()
const began = performance.now()
const until = began + minutes * 60_000

async function lane(): Promise<void> {
  while (performance.now() < until) await visitThread(crypto.randomUUID())
}

/** Visits one thread several times, until it is old, unusable or the time is over. */
async function visitThread(threadId: string): Promise<void> {
  const end = Math.min(performance.now() + THREAD_MS, until)
  for (let visits = 1 + below(VISITS_OF_A_THREAD); visits > 0; visits--) {
    if (performance.now() > end) return
    const name = names[below(names.length)] as string
    if (!(await visit(name, threadId)) || LAST_VISITS.has(name)) return
  }
}

/** Makes one visit; false if it failed. */
async function visit(name: string, threadId: string): Promise<boolean> {
  try {
    await VISITS[name]?.({ url: server.url, threadId, totals, below })
    counts.set(name, (counts.get(name) ?? 0) + 1)
    return true
  } catch (error) {
    failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    return false
  }
}

const samples: (Sample & { readonly runs: number })[] = []
const lanes = Promise.all(Array.from({ length: LANES }, lane))
while (performance.now() < until) {
  await pause((minutes * 60_000) / SAMPLES)
  samples.push({ ...(await server.sample()), runs: totals.runs })
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
  `${minutes} minutes, ${totals.runs.toLocaleString('en')} runs, ${totals.pings.toLocaleString('en')} keep-alives`,
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
  // Each silent run has time for two keep-alives, of which a busy machine may skip one.
  ...(totals.pings >= (counts.get('thinking') ?? 0) ? [] : [`only ${totals.pings} keep-alives`]),
  ...(growth > GROWTH ? ['the heap is not flat'] : []),
  ...(last.recorded === totals.runs ? [] : [`${last.recorded} of ${totals.runs} runs are recorded`]),
  ...(last.paid === totals.paid ? [] : [`${last.paid} payments for ${totals.paid} approvals`]),
  ...(last.active === 0 && last.timers === 0 ? [] : [`not released: ${last.active} runs and ${last.timers} timers`]),
]
console.log(wrong.length === 0 ? '\nok' : `\nFAIL\n${wrong.join('\n')}`)
process.exitCode = wrong.length === 0 ? 0 : 1

/** The slope of the line that is closest to the points. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, p) => sum + of(p), 0) / points.length
  const [x, y] = [mean(([x]) => x), mean(([, y]) => y)]
  return mean((p) => (p[0] - x) * (p[1] - y)) / mean((p) => (p[0] - x) ** 2)
}
