import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_RESTATE } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { faultsOf } from './check-run.ts'
import { Cluster } from './cluster.ts'
import { expectComplete, survives } from './in-flight.ts'
import { talk } from './talk.ts'
import { IN_FLIGHT, WHOLE } from './whole.ts'

if (NO_RESTATE) console.warn(NO_RESTATE)

describe.skipIf(NO_RESTATE)(`${IN_FLIGHT} runs in flight`, () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start({ workers: 2 })
  })
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  /** Replaces a worker by another one. */
  const replace = async () => {
    const [victim] = cluster.workers
    if (!victim) throw new Error('no worker')
    cluster.removeWorker(victim)
    await victim.kill()
    await cluster.addWorker()
  }

  it('survive the death of a worker', () => survives(cluster, IN_FLIGHT, replace))

  it('go on within a second when a worker dies behind the same address', async () => {
    const run = talk(cluster.runner(), { turns: 1, wordMs: 200 })
    await run.seen(({ type }) => type === 'text-delta')
    const [speaker] = cluster.speakers(run.events)
    if (!speaker) throw new Error('nobody speaks')
    cluster.removeWorker(speaker)
    const died = performance.now()
    await speaker.kill()
    const goesOn = () => cluster.effects.all().find(({ pid, key }) => pid !== speaker.pid && key.includes(run.runId))
    await expect.poll(goesOn, { timeout: 30_000, interval: 5 }).toBeDefined()
    const tookMs = performance.now() - died
    console.log(`takeover: ${Math.round(tookMs)} ms`)
    expect(tookMs).toBeLessThan(1_000)
    expect(await run.ended).toMatchObject({ outcome: 'complete' })
    await cluster.addWorker()
  })

  it('survive the death of the server', () =>
    survives(cluster, IN_FLIGHT, async () => {
      await cluster.restate.kill()
      await cluster.restate.start()
    }))

  it('survive the death of the server and of a worker', () =>
    survives(cluster, IN_FLIGHT, async () => {
      await Promise.all([cluster.restate.kill(), replace()])
      await cluster.restate.start()
    }))

  it('survive a restart of PostgreSQL', () => survives(cluster, IN_FLIGHT, () => cluster.restartPostgres()))

  it('survive a crash of PostgreSQL, which loses the end of their logs', () =>
    survives(cluster, IN_FLIGHT, () => cluster.restartPostgres('SIGQUIT')))

  it('survive a worker that is frozen', async () => {
    const [frozen] = cluster.workers
    if (!frozen) throw new Error('no worker')
    await survives(cluster, IN_FLIGHT, async () => frozen.signal('SIGSTOP'))
    frozen.signal('SIGCONT')
  })

  it('go on within 10 seconds when a worker is frozen, which changes nothing any more when it goes on', async () => {
    const run = talk(cluster.runner(), { turns: 2, wordMs: 200 })
    await run.seen(({ type }) => type === 'text-delta')
    const [frozen] = cluster.speakers(run.events)
    if (!frozen) throw new Error('nobody speaks')
    frozen.signal('SIGSTOP')
    const began = performance.now()
    const goesOn = () => cluster.effects.all().find(({ pid, key }) => pid !== frozen.pid && key.includes(run.runId))
    await expect.poll(goesOn, { timeout: 30_000, interval: 20 }).toBeDefined()
    const tookMs = performance.now() - began
    console.log(`frozen: ${Math.round(tookMs)} ms`)
    expect(tookMs).toBeLessThan(10_000)
    await run.seen((event) => event.type === 'text-delta' && !event.delta.includes(`.${frozen.pid} `))
    frozen.signal('SIGCONT')
    await expectComplete(cluster, [run])
    const after = talk(cluster.runner(), { turns: 1 }, run.ref)
    await expectComplete(cluster, [after])
    expect(await faultsOf(cluster.store, run.ref, run.runId, run.events)).toEqual([])
  })
})

// They wait for a cluster of three for long.
describe.skipIf(NO_RESTATE || !WHOLE)(`${IN_FLIGHT} runs in flight on three nodes`, () => {
  it('survive the death of one', async () => {
    await using cluster = await Cluster.start({ workers: 2, nodes: 3 })
    await survives(cluster, IN_FLIGHT, async () => cluster.nodes[1]?.kill())
    await survives(cluster, 1, async () => undefined)
  })
})
