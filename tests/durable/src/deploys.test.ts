import { describe, expect, it } from 'vitest'
import { NO_RESTATE } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { Cluster } from './cluster.ts'
import { expectComplete } from './in-flight.ts'
import { talk } from './talk.ts'
import { IN_FLIGHT } from './whole.ts'

describe.skipIf(NO_RESTATE)('a rolling deploy', () => {
  it('does no step twice', async () => {
    await using cluster = await Cluster.start({ workers: 2 })
    const chat = cluster.runner()
    const plan = { turns: 6, calls: ['send', 'look'], wordMs: 20, callMs: 40 }
    const talks = Array.from({ length: IN_FLIGHT }, () => talk(chat, plan))
    await Promise.all(talks.map(({ seen }) => seen(({ type }) => type === 'text-delta')))
    for (const old of [...cluster.workers]) {
      await cluster.addWorker()
      cluster.removeWorker(old)
      await old.stop()
    }
    await expectComplete(cluster, talks)
    const twice = ['model', 'send', 'look'].flatMap((name) =>
      [...cluster.effects.begun(name)].filter(([, count]) => count > 1).map(([key]) => key),
    )
    expect(cluster.effects.all().filter(({ key }) => twice.includes(key))).toEqual([])
    const unknown = talks
      .flatMap(({ events }) => events)
      .filter((event) => JSON.stringify(event).includes('outcome of this call'))
    expect(unknown).toEqual([])
  })
})
