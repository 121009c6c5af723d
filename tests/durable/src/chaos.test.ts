import { describe, expect, it } from 'vitest'
import { NO_RESTATE } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { chaos } from './chaos.ts'
import { Cluster } from './cluster.ts'
import { WHOLE } from './whole.ts'

describe.skipIf(NO_RESTATE)('many runs while workers are killed', () => {
  const runs = WHOLE ? 200 : 10
  it(`${runs} runs of 17 steps are complete, exactly once`, { timeout: 600_000 }, async () => {
    await using cluster = await Cluster.start({ workers: WHOLE ? 5 : 3 })
    const result = await chaos(cluster, { runs, atOnce: WHOLE ? 20 : 10, everyMs: 300 })
    console.log(`chaos: ${JSON.stringify(result)}`)
    expect(result).toMatchObject({ complete: runs, faults: [], repeated: [] })
    expect(result.kills).toBeGreaterThan(0)
    // A run is complete in the store a moment before its invocation is, and a kill may fall between the two.
    const open = () => cluster.restate.ask("select status from sys_invocation where status <> 'completed'")
    await expect.poll(open, { timeout: 60_000 }).toEqual([])
  })
})
