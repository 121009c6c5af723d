import { describe, expect, it } from 'vitest'
import { NO_RESTATE } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { type ChaosOptions, chaos } from './chaos.ts'
import { Cluster } from './cluster.ts'
import { WHOLE } from './whole.ts'

describe.skipIf(NO_RESTATE)('many runs while workers are killed', () => {
  const runs = WHOLE ? 200 : 10
  it(`${runs} runs of 17 steps are complete, exactly once`, { timeout: 600_000 }, async () => {
    await using cluster = await Cluster.start({ workers: WHOLE ? 5 : 3 })
    await survive(cluster, { runs, atOnce: WHOLE ? 20 : 10, everyMs: 300, blows: ['kill'] })
  })
})

// A frozen worker is noticed after seconds.
describe.skipIf(NO_RESTATE || !WHOLE)('many runs while workers die and freeze and the server breaks down', () => {
  it('200 runs of 17 steps are complete, exactly once', { timeout: 600_000 }, async () => {
    await using cluster = await Cluster.start({ workers: 5 })
    await survive(cluster, {
      runs: 200,
      atOnce: 20,
      everyMs: 700,
      blows: ['kill', 'freeze', 'kill', 'server', 'freeze'],
    })
  })
})

async function survive(cluster: Cluster, options: ChaosOptions): Promise<void> {
  const result = await chaos(cluster, options)
  console.log(`chaos: ${JSON.stringify(result)}`)
  expect(result).toMatchObject({ complete: options.runs, faults: [], repeated: [] })
  for (const blow of options.blows) expect(result.blows[blow]).toBeGreaterThan(0)
  // A run is complete in the store a moment before its invocation is, and a blow may fall between the two.
  const open = () => cluster.restate.ask("select status from sys_invocation where status <> 'completed'")
  await expect.poll(open, { timeout: 60_000 }).toEqual([])
}
