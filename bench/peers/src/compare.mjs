import { sides } from './sides.mjs'
import { concurrent, workloads } from './workloads.mjs'

const LOOP = 'hand-written'
const OURS = 'troupe'
const others = Object.keys(sides).filter((name) => name !== LOOP && name !== OURS)

/** The middle of some numbers. */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** A number with as many digits as matter. */
export function digits(value) {
  if (Math.abs(value) < 0.1) return value.toFixed(4)
  if (value < 10) return value.toFixed(2)
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en')
}

const times = (ratio) => `${ratio < 2 ? ratio.toFixed(2) : digits(ratio)}x`

/**
 * Makes one row: the figure of each side, and whether ours holds the budget, if there is one. `values(side)` is one number per repetition,
 * or a string that says why there is none.
 */
function row({ name, unit, budget, limit = 0, cap, values, toLoop }) {
  const seen = Object.fromEntries(Object.keys(sides).map((side) => [side, values(side)]))
  const figure = (side) => {
    const value = median(seen[side])
    return `${Number.isInteger(value) ? value : digits(value)} ${unit}`.trim()
  }
  const ratioTo = (side, base) => median(seen[side].map((value, i) => value / seen[base][i]))
  const cell = (side) => {
    if (typeof seen[side] === 'string') return seen[side] === '-' ? '-' : 'none, see below'
    return toLoop && side !== LOOP ? `${figure(side)} (${times(ratioTo(side, LOOP))})` : figure(side)
  }
  const ranked = others.filter((side) => typeof seen[side] !== 'string')
  const best = ranked.toSorted((a, b) => median(seen[a]) - median(seen[b]))[0]
  const ours = toLoop ? ratioTo(OURS, LOOP) : median(seen[OURS])
  const share = ours / limit
  return {
    name,
    cells: Object.fromEntries(Object.keys(sides).map((side) => [side, cell(side)])),
    budget,
    limit: toLoop ? times(limit) : '-',
    ours: toLoop ? `${times(ours)}, ${figure(OURS)}` : figure(OURS),
    held: share <= 1 ? `held, ${times(share)} of it` : `**not held**, ${times(share)} of it`,
    byTime: toLoop ? `${times(median(seen[OURS]) / cap)} of ${digits(cap)} ${unit}` : '-',
    best: `${figure(best)} (${sides[best]})`,
    against: times(ratioTo(best, OURS)),
  }
}

/** Makes all rows of the tables. */
export function compare({ rounds, sizes }) {
  const of = (id) => (side) => {
    const values = rounds.map((round) => round[side][id])
    return typeof values[0] === 'number' ? values : (values[0] ?? '-')
  }
  const fixed = (key) => (side) => (sizes[side] ? [sizes[side][key]] : '-')
  return [
    ...workloads.map(({ id, name, unit, cap, reference }) =>
      row({
        name,
        unit,
        budget: `${cap} ${unit} beside ${reference}`,
        limit: cap / reference,
        cap,
        values: of(id),
        toLoop: true,
      }),
    ),
    row({
      name: concurrent.name,
      unit: 'ms',
      budget: `${concurrent.capRatio} times the hand-written, then ${concurrent.reference} ms`,
      limit: concurrent.capRatio,
      cap: concurrent.capRatio * concurrent.reference,
      values: of('concurrent'),
      toLoop: true,
    }),
    row({ name: 'the same, warm', unit: 'ms', values: of('warm'), toLoop: true }),
    row({
      name: 'the first of them, peak memory',
      unit: 'MB',
      budget: '110 MB',
      limit: concurrent.capMb,
      values: of('peakMb'),
    }),
    row({ name: 'import, cold', unit: 'ms', budget: '20 ms', limit: 20, values: of('import') }),
    row({ name: 'installed size', unit: 'MB', budget: '1.5 MB', limit: 1.5, values: fixed('mb') }),
    row({ name: 'installed packages', unit: '', budget: '4 packages', limit: 4, values: fixed('packages') }),
  ]
}
