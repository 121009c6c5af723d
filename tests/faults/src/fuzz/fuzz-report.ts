import type { FuzzFigures } from './fuzz.ts'

/** Makes a table of what came of fuzzed requests, followed by the failures. */
export function fuzzReport({ requests, statuses, slowestMs, slow, growthMegabytes, failures }: FuzzFigures): string {
  const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status || 'none'}: ${count}`)
  return [
    'FUZZ',
    `requests                            ${requests}`,
    `answers by status                   ${answers.join(', ')}`,
    `the longest wait for an answer, ms  ${Math.round(slowestMs)}`,
    `over 500 ms also when sent alone    ${slow}`,
    `growth of the heap, MB              ${growthMegabytes.toFixed(1)}`,
    `failures                            ${failures.length}`,
    ...failures.map((failure) => `  ${failure}`),
  ].join('\n')
}
