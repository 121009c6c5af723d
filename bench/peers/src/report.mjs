import { compare } from './compare.mjs'
import { notes } from './notes.mjs'
import { sides } from './sides.mjs'

/** A table in Markdown. */
export const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

/** The text of RESULTS.md. */
export function report(measured) {
  const { rounds, loads, times, machine, versions } = measured
  const rows = compare(measured)
  const names = Object.keys(sides)
  return `# Troupe compared with other frameworks

This page is written by \`pnpm bench:peers\`; [peers/README.md](peers/README.md) explains how it measures.

Main-thread CPU, medians of ${rounds.length} repetitions; the ratio to the hand-written loop of the same repetition is in
parentheses. Lower is better. Times differ from machine to machine, so look at the ratios.

${table(
  ['workload', ...names.map((name) => sides[name])],
  rows.map(({ name, cells }) => [name, ...names.map((side) => cells[side])]),
)}

## Budgets

Each budget is a time together with the time of a hand-written loop; the quotient of the two is compared with our ratio. Rows without a
hand-written side are compared with the budget itself. The last two columns show the best of the other frameworks, and its ratio to
Troupe.

${table(
  ['workload', 'budget', 'as a ratio', 'Troupe', 'held', 'by time alone', 'best other', 'beside Troupe'],
  rows
    .filter(({ budget }) => budget)
    .map((row) => [row.name, row.budget, row.limit, row.ours, row.held, row.byTime, row.best, row.against]),
)}

## Environment

${environment({ machine, loads, rounds: `at least ${times.roundMs} ms of CPU, after ${times.warmMs} ms of warm-up`, command: 'bench:peers', versions })}

${notes}`
}

/** Tells what was measured on. */
export function environment({ machine, loads, rounds, command, versions }) {
  const load = [Math.min(...loads), Math.max(...loads)].map((value) => value.toFixed(1)).join(' to ')
  return `| | |
|---|---|
| machine | ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system} |
| Node | ${machine.node} |
| load while measuring | ${load} (one-minute average, before and after each repetition; the measurement itself adds 1) |
| rounds | ${rounds} |
| command | \`npx -y pnpm@12.18.0 ${command}\` |
| versions | ${Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')} |`
}
