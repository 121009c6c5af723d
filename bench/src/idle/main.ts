/** Measures open streams while nothing happens: `pnpm bench:idle [streams]`. */
import { execFileSync } from 'node:child_process'
import type { IdleFigures } from './server.ts'

const streams = Number(process.argv[2] ?? 5_000)
/** Open files of each process: one socket for each stream, and those of Node itself. */
const files = streams + 200
/** Memory that may remain for each stream, and in all; less than that is noise. */
const LEFT_KB = 0.5
const NOISE_KB = 500

const KINDS = {
  memory: 'each of a run of its own, in memory',
  sqlite: 'each of a run of its own, in SQLite',
  shared: 'all of one run, in memory',
}

// Node has already raised the limit to the allowed maximum.
const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
if (limit !== 'unlimited' && Number(limit) < files) {
  console.log(`Skipped: ${streams} streams need ${files} open files, but only ${limit} are allowed (ulimit -n).`)
  process.exit()
}

const titles = ['heap each, kB', 'RSS each, kB', 'CPU, ms a second', 'loop busy', 'left, kB in all']
console.log(`| ${streams.toLocaleString('en')} idle streams | ${titles.join(' | ')} |\n|---|---|---|---|---|---|`)
const wrong: string[] = []
for (const [kind, name] of Object.entries(KINDS)) {
  const script = new URL('./server.ts', import.meta.url).pathname
  const args = ['--no-warnings', '--expose-gc', script, kind, String(streams)]
  const figures = JSON.parse(
    execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 300_000 }),
  ) as IdleFigures
  const { heapKb, rssKb, cpuMsPerSecond, busy, leftKb, left } = figures
  const cells = [
    name,
    heapKb.toFixed(1),
    rssKb.toFixed(1),
    cpuMsPerSecond.toFixed(0),
    `${Math.round(busy * 100)} %`,
    leftKb.toFixed(0),
  ]
  console.log(`| ${cells.join(' | ')} |`)
  const { timers, connections, runs } = left
  if (timers + connections + runs > 0) wrong.push(`${name}: not released: ${JSON.stringify(left)}`)
  if (leftKb > Math.max(NOISE_KB, streams * LEFT_KB)) wrong.push(`${name}: ${Math.round(leftKb)} kB are not released`)
}
console.log(
  wrong.length === 0
    ? '\nAfter the clients have left and the threads are deleted, the heap is as before and no timer, connection or run remains.'
    : `\nFAIL\n${wrong.join('\n')}`,
)
process.exitCode = wrong.length === 0 ? 0 : 1
