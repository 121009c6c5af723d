import { CAMPAIGNS, STORES } from './campaign.ts'
import type { CampaignResult } from './campaign-result.ts'

/** The rows of every campaign of servers. */
const SERVED: readonly (readonly [count: string, label: string])[] = [
  ['turns', 'turns acknowledged'],
  ['failed', 'turns that failed, with a code'],
  ['refused', 'requests answered with 503, and sent again'],
  ['cut', 'connections that broke or stayed silent'],
  ['slowestMs', 'the longest wait for an answer, ms'],
]

/** The rows of the table for each campaign, with their labels. */
const LABELS: { readonly [campaign: string]: readonly (readonly [count: string, label: string])[] } = {
  kills: [
    ['kills', 'processes killed with SIGKILL'],
    ['acknowledged', 'ends and questions acknowledged before'],
    ['continued', 'broken-off runs continued by one of two processes'],
    ['resumed', 'interrupted runs resumed in another process'],
    ['delivered', 'open calls answered in another process'],
    ['brokenOff', 'answers accepted and broken off, not accepted again'],
    ['reconciled', 'runs and calls closed by reconcile'],
    ['unknown', 'calls marked as unknown'],
  ],
  faults: [
    ['faults', 'conversations on a faulty store'],
    ['strikes', 'calls of the store that went wrong'],
    ['acknowledged', 'ends and questions acknowledged'],
    ['failed', 'runs that failed, with a code'],
    ['degraded', 'outages of records reported'],
    ['continued', 'runs continued whose end could not be stored'],
    ['resumed', 'interrupted runs resumed afterwards'],
    ['unknown', 'calls marked as unknown'],
  ],
  stops: [
    ['stops', 'writers stopped past their lease'],
    ['inTransaction', 'of these inside a transaction, which blocked everybody else'],
    ['staleWritesRefused', 'stale writes refused'],
    ['lateRecords', 'late but true records accepted'],
    ['unknown', 'calls marked as unknown'],
  ],
  continues: [
    ['continues', 'processes killed with SIGKILL'],
    ['rivals', 'conversations that two processes carried on at once'],
    ['stopped', 'processes stopped past their lease, and continued'],
    ['repeated', 'steps in flight that were done again'],
    ['takenBack', 'answers that broke off and were taken back'],
    ['unknown', 'calls told to the model as unknown'],
    ['unseenEnds', 'runs that ended in the store alone'],
    ['linked', 'spans of runs that go on from another run'],
  ],
  frozen: [
    ['frozen', 'servers frozen past their lease, and thawed'],
    ['takenOver', 'of their runs carried on by another server meanwhile'],
    ['staleEffects', 'effects that they began on a lost lease'],
    ...SERVED,
  ],
  outages: [['outages', 'half-second outages'], ...SERVED],
  clocks: [
    ['clocks', 'jumps of a clock'],
    ['stolen', 'runs that another server took while their own was alive'],
    ['staleEffects', 'effects begun on a lost lease'],
    ...SERVED,
  ],
  rolling: [['rolling', 'servers replaced'], ...SERVED],
}

/** Makes a table of all counts, followed by the failures. */
export function report(results: readonly CampaignResult[]): string {
  const rows: string[][] = []
  for (const campaign of CAMPAIGNS) {
    const both = STORES.map((kind) => results.find((result) => result.campaign === campaign && result.kind === kind))
    if (both.every((result) => !result)) continue
    const row = (label: string, count: (result: CampaignResult) => number) =>
      rows.push([label, ...both.map((result) => (result ? count(result).toLocaleString('en') : '-'))])
    rows.push([campaign.toUpperCase(), ...STORES])
    for (const [name, label] of LABELS[campaign] ?? []) row(label, ({ counts }) => counts.get(name) ?? 0)
    for (const point of pointsOf(both)) row(`  hit: ${point}`, (result) => hitsAt(result, point))
    row('invariants checked', ({ checked }) => checked)
    row('invariants violated', ({ failures }) => failures.length)
    row('seconds', ({ ms }) => Math.round(ms / 1000))
    rows.push([])
  }
  const failures = results.flatMap(({ failures: all }) => all)
  return [...table(rows), ...failures.map((failure) => `  ${failure}`)].join('\n')
}

/** The points that faults hit, without the details of a statement. */
function pointsOf(results: readonly (CampaignResult | undefined)[]): readonly string[] {
  return [...new Set(results.flatMap((result) => [...(result?.hits.keys() ?? [])].map(pointOf)))].sort()
}

function hitsAt({ hits }: CampaignResult, point: string): number {
  return [...hits].reduce((sum, [hit, count]) => sum + (pointOf(hit) === point ? count : 0), 0)
}

function pointOf(hit: string): string {
  const [by, moment, verb] = hit.split(' ')
  if (by === 'statement') return `${moment} a statement: ${verb}`
  return by === 'call' ? `${moment} a call: ${verb?.split('.')[0]}` : hit
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const width = Math.max(...rows.map(([label = '']) => label.length))
  return rows.map(([label = '', ...counts]) =>
    `${label.padEnd(width)}${counts.map((count) => count.padStart(11)).join('')}`.trimEnd(),
  )
}
