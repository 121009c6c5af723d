import { CAMPAIGNS, STORES } from './campaign.ts'
import type { Tally } from './campaign-result.ts'

/** What is counted, in the words of the table; per campaign, in this order. */
const WORDS: { readonly [campaign: string]: readonly (readonly [what: string, words: string])[] } = {
  kills: [
    ['kills', 'processes killed with SIGKILL'],
    ['acknowledged', 'ends and questions acknowledged before'],
    ['resumed', 'interrupted runs resumed in another process'],
    ['delivered', 'open calls answered in another process'],
    ['brokenOff', 'answers taken and broken off, not taken again'],
    ['reconciled', 'runs and calls closed by reconcile'],
    ['unknown', 'calls marked as unknown'],
  ],
  faults: [
    ['faults', 'conversations on a faulty store'],
    ['strikes', 'calls of the store that went wrong'],
    ['acknowledged', 'ends and questions acknowledged'],
    ['failed', 'runs that failed, with a code'],
    ['degraded', 'outages of records reported'],
    ['resumed', 'interrupted runs resumed afterwards'],
    ['unknown', 'calls marked as unknown'],
  ],
  stops: [
    ['stops', 'writers stopped past their lease'],
    ['inTransaction', 'of these inside a transaction, so that nobody got past'],
    ['staleWritesRefused', 'stale writes refused'],
    ['lateRecords', 'late but true records accepted'],
    ['unknown', 'calls marked as unknown'],
  ],
}

/** One table of everything that was counted, then what was wrong. */
export function report(tallies: readonly Tally[]): string {
  const rows: string[][] = []
  for (const campaign of CAMPAIGNS) {
    const both = STORES.map((kind) => tallies.find((tally) => tally.campaign === campaign && tally.kind === kind))
    if (both.every((tally) => !tally)) continue
    const row = (words: string, count: (tally: Tally) => number) =>
      rows.push([words, ...both.map((tally) => (tally ? count(tally).toLocaleString('en') : '-'))])
    rows.push([campaign.toUpperCase(), ...STORES])
    for (const [what, words] of WORDS[campaign] ?? []) row(words, ({ counts }) => counts.get(what) ?? 0)
    for (const place of placesOf(both)) row(`  hit: ${place}`, (tally) => hitsAt(tally, place))
    row('invariants checked', ({ checked }) => checked)
    row('invariants violated', ({ failures }) => failures.length)
    row('seconds', ({ ms }) => Math.round(ms / 1000))
    rows.push([])
  }
  const failures = tallies.flatMap(({ failures: all }) => all)
  return [...table(rows), ...failures.map((failure) => `  ${failure}`)].join('\n')
}

/** Where faults have hit, without the particulars of a statement. */
function placesOf(tallies: readonly (Tally | undefined)[]): readonly string[] {
  return [...new Set(tallies.flatMap((tally) => [...(tally?.hits.keys() ?? [])].map(placeOf)))].sort()
}

function hitsAt({ hits }: Tally, place: string): number {
  return [...hits].reduce((sum, [hit, count]) => sum + (placeOf(hit) === place ? count : 0), 0)
}

function placeOf(hit: string): string {
  const [by, moment, verb] = hit.split(' ')
  if (by === 'statement') return `${moment} a statement: ${verb}`
  return by === 'call' ? `${moment} a call: ${verb?.split('.')[0]}` : hit
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const width = Math.max(...rows.map(([words = '']) => words.length))
  return rows.map(([words = '', ...counts]) =>
    `${words.padEnd(width)}${counts.map((count) => count.padStart(11)).join('')}`.trimEnd(),
  )
}
