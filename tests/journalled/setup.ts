import { afterEach, beforeAll, expect } from 'vitest'
import { type Agent, JOURNAL, say } from '../../packages/kernel/src/index.ts'
import { startRun } from '../../packages/kernel/src/run.ts'
import { takeFaults } from './journal-every-run.ts'

beforeAll(async () => {
  let found: unknown
  const probe: Agent = {
    name: 'probe',
    description: '',
    run(_input, ctx) {
      found = ctx.get(JOURNAL)
      return say(ctx, 'Hi')
    },
  }
  await startRun(probe, 'Hi')
  expect(found, 'a run has no journal: journal-every-run-plugin.ts no longer reaches startRun').toBeDefined()
})

afterEach(() => {
  expect(takeFaults()).toEqual([])
})
