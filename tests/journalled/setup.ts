import { afterEach, beforeAll, expect } from 'vitest'
import { type Agent, JOURNAL, say } from '../../packages/kernel/src/index.ts'
import { startRun } from '../../packages/kernel/src/run.ts'
import { takeFaults } from './journal-every-run.ts'

/** Tests whose agents break a rule of the journal on purpose: part of the name of each, and the fault that it has. */
const EXPECTED: readonly (readonly [test: string, fault: RegExp])[] = [
  // The agent of this fixture gives the calls of a resumed turn and of the next one the same step.
  ['an approval of one is not an approval of the other', /tool:0:0\/agent was asked for twice/],
  // The model of this test says that it used NaN tokens.
  ['tokens, of a model whose numbers are nonsense', /is not JSON at \.events\[\d+\]\.usage\.inputTokens/],
]

beforeAll(async () => {
  let found: unknown
  const probe: Agent = {
    name: 'probe',
    description: '',
    recordsSteps: true,
    run(_input, ctx) {
      found = ctx.get(JOURNAL)
      return say(ctx, 'Hi')
    },
  }
  await startRun(probe, 'Hi')
  expect(found, 'a run has no journal: journal-every-run-plugin.ts no longer reaches startRun').toBeDefined()
})

afterEach(() => {
  const test = expect.getState().currentTestName ?? ''
  const [, expected] = EXPECTED.find(([name]) => test.endsWith(name)) ?? []
  const faults = takeFaults()
  expect(faults.filter((fault) => !expected?.test(fault))).toEqual([])
  if (expected) expect(faults).not.toEqual([])
})
