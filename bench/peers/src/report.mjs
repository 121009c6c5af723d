import { compare } from './compare.mjs'
import { notes } from './notes.mjs'
import { sides } from './sides.mjs'

const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

/** The text of RESULTS.md. */
export function report(measured) {
  const { rounds, loads, times, machine, versions } = measured
  const rows = compare(measured)
  const names = Object.keys(sides)
  const load = [Math.min(...loads), Math.max(...loads)].map((value) => value.toFixed(1)).join(' to ')
  return `# Troupe beside other frameworks

Written by \`pnpm bench:peers\`; what is measured and how is in [peers/README.md](peers/README.md).

Main-thread CPU, medians of ${rounds.length} repetitions; in brackets how many times the hand-written loop of the same repetition. Lower
is better. Times differ from machine to machine: the ratios are what counts.

${table(
  ['workload', ...names.map((name) => sides[name])],
  rows.map(({ name, cells }) => [name, ...names.map((side) => cells[side])]),
)}

## Budgets

A budget was set as a time beside that of a hand-written loop; here it is the quotient of the two, held against our ratio. Rows without
a hand-written side are held against the budget itself. The last two columns are the best of the other frameworks, and how many
times Troupe it takes.

${table(
  ['workload', 'budget', 'as a ratio', 'Troupe', 'held', 'by time alone', 'best other', 'beside Troupe'],
  rows
    .filter(({ budget }) => budget)
    .map((row) => [row.name, row.budget, row.limit, row.ours, row.held, row.byTime, row.best, row.against]),
)}

## Where and what

| | |
|---|---|
| machine | ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system} |
| Node | ${machine.node} |
| load while measuring | ${load} (of one minute, before and after each repetition; this measurement itself is 1) |
| rounds | at least ${times.roundMs} ms of CPU, after ${times.warmMs} ms of warm-up |
| command | \`npx -y pnpm@12.18.0 bench:peers\` |
| versions | ${Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')} |

${notes}`
}
