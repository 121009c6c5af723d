import { CONCURRENT, DELTAS, PRIOR, STEPS, WORD } from './script.mjs'

/**
 * The workloads. `work(side)` returns the work of one side, or a string that says why the side cannot do it. Doing the work once is `units`
 * units and must give the counts in `expected`. `cap` is the budget in the unit of the row, and `reference` is the figure of the hand-written
 * side when the budget was set: their quotient is the budget as a ratio.
 */
export const workloads = [
  {
    id: 'turn',
    name: 'one turn, invoke',
    unit: 'µs',
    units: 1,
    work: (side) => side.invoke({}),
    expected: { text: WORD, modelCalls: 1, toolCalls: 0, deltas: 0 },
    cap: 8,
    reference: 0.8,
  },
  {
    id: 'turn-streamed',
    name: 'one turn, streamed',
    unit: 'µs',
    units: 1,
    work: (side) => side.stream({}),
    expected: { text: WORD, modelCalls: 1, toolCalls: 0, deltas: 1 },
    cap: 10,
    reference: 1.3,
  },
  {
    id: 'tools',
    name: 'ten tools and an answer, per turn',
    unit: 'µs',
    units: STEPS + 1,
    work: (side) => side.invoke({ steps: STEPS }),
    expected: { text: WORD, modelCalls: STEPS + 1, toolCalls: STEPS, deltas: 0 },
    cap: 10,
    reference: 1.8,
  },
  {
    id: 'tools-streamed',
    name: 'the same, streamed',
    unit: 'µs',
    units: STEPS + 1,
    work: (side) => side.stream({ steps: STEPS }),
    expected: { text: WORD, modelCalls: STEPS + 1, toolCalls: STEPS, deltas: 1 },
    cap: 12,
    reference: 2.4,
  },
  {
    id: 'delta',
    name: 'one streamed delta',
    unit: 'µs',
    units: DELTAS,
    work: (side) => side.stream({ deltas: DELTAS }),
    expected: { text: WORD.repeat(DELTAS), modelCalls: 1, toolCalls: 0, deltas: DELTAS },
    cap: 1.2,
    reference: 0.7,
  },
  {
    id: 'transfer',
    name: 'transfer router to specialist',
    unit: 'µs',
    units: 1,
    work: (side) => (typeof side.transfer === 'string' ? side.transfer : side.transfer()),
    expected: { text: WORD, modelCalls: 2, toolCalls: 0, deltas: 0 },
    cap: 20,
    reference: 2.5,
  },
  {
    id: 'prior',
    name: 'each prior message, per run',
    unit: 'µs',
    units: PRIOR,
    // The additional cost of a run on many messages, compared to a run on one.
    less: (side) => side.invoke({}),
    work: (side) => side.invoke({ prior: PRIOR }),
    expected: { text: WORD, modelCalls: 1, toolCalls: 0, deltas: 0 },
    cap: 0.03,
    reference: 0.003,
  },
]

/** Measured in a fresh process, first cold and then once more warm. */
export const concurrent = {
  name: '1,000 concurrent three-tool runs, CPU',
  work(side) {
    const run = side.invoke({ steps: 3 })
    return async () => {
      const texts = await Promise.all(Array.from({ length: CONCURRENT }, run))
      return texts.every((text) => text === WORD) ? WORD : 'something else'
    }
  },
  expected: { text: WORD, modelCalls: 4 * CONCURRENT, toolCalls: 3 * CONCURRENT, deltas: 0 },
  capRatio: 3,
  reference: 41,
  capMb: 110,
}
