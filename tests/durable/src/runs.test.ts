import { type AgentEvent, KernelError } from '@troupe/kernel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_RESTATE } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { faultsOf, repeated } from './check-run.ts'
import { Cluster } from './cluster.ts'
import { expectComplete } from './in-flight.ts'
import { read, talk, thread } from './talk.ts'
import { WHOLE } from './whole.ts'

const codeOf = (work: PromiseLike<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => KernelError.from(error).code,
  )

const STORES = WHOLE ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)

describe.skipIf(NO_RESTATE).each(STORES)('runs on Restate and %s', (store) => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start({ workers: 2, store })
  })
  afterAll(() => cluster?.[Symbol.asyncDispose]())
  const asked = ({ type }: AgentEvent) => type === 'text-delta'

  it('go on in their threads', async () => {
    const chat = cluster.runner()
    const first = talk(chat, { turns: 1 })
    await expectComplete(cluster, [first])
    const second = talk(chat, { turns: 2, calls: ['look'] }, first.ref)
    await expectComplete(cluster, [second])
    expect(await cluster.store.threads.messages(first.ref)).toHaveLength(1 + 3 + 1 + 5)
    expect(await cluster.store.records.runs(first.ref)).toMatchObject([{ status: 'complete' }, { status: 'complete' }])
  })

  it('have the steps of agents in tools and of branches as steps of their own', async () => {
    const nested = talk(cluster.runner('desk'), { turns: 1, calls: ['helper', 'look'] })
    const branches = talk(cluster.runner('team'), { turns: 2, calls: ['send'] })
    await expectComplete(cluster, [nested, branches])
    const steps = (runId: string) =>
      cluster.restate.ask(`select raw_length from sys_journal j join sys_invocation i on j.id = i.id
        where i.idempotency_key = '${runId}' and j.entry_type = 'Command: Run'`)
    // Steps that end together share an entry; the last entry is the end of the run.
    expect((await steps(nested.runId)).length).toBeGreaterThanOrEqual(1 + 5 + 1 + 1)
    expect((await steps(branches.runId)).length).toBeGreaterThan(1 + 2 + 2)
  })

  it('are refused at once while another one has the thread', async () => {
    const chat = cluster.runner()
    const first = talk(chat, { turns: 1, wordMs: 50 })
    await first.seen(asked)
    expect(await codeOf(talk(chat, { turns: 0 }, first.ref).ended)).toBe('THREAD_BUSY')
    const { ref, runId } = first
    expect(await codeOf(chat.run('again', { session: ref, runId }))).toBe('THREAD_BUSY')
    await expectComplete(cluster, [first])
    expect(await codeOf(chat.run('again', { session: ref, runId }))).toBe('RUN_ID_TAKEN')
  })

  it('wait for an approval without a worker, and go on with the answer', async () => {
    const chat = cluster.runner()
    const first = talk(chat, { turns: 1, calls: ['pay', 'send'] })
    const end = await first.ended
    expect(end).toMatchObject({ type: 'run-end', outcome: 'interrupted', interrupts: [{ reason: 'approval' }] })
    expect(await codeOf(chat.run('Well?', { session: first.ref }))).toBe('PENDING_TOOL_CALLS')
    expect(await codeOf(chat.resume({ nobody: true }, { session: first.ref }))).toBe('INTERRUPT_UNKNOWN')
    const [question] = end?.type === 'run-end' ? (end.interrupts ?? []) : []
    await Promise.all(cluster.workers.splice(0).map((worker) => worker.kill()))
    await Promise.all([cluster.addWorker(), cluster.addWorker()])
    const runId = `${first.runId}-answered`
    const answers = { [question?.id ?? '']: { approved: true } }
    const second = read(chat.resume(answers, { session: first.ref, runId }), first.ref, runId)
    expect(await second.ended).toMatchObject({ outcome: 'complete' })
    expect([...cluster.effects.begun('pay').values()]).toEqual([1])
    expect(await faultsOf(cluster.store, first.ref, runId, second.events)).toEqual([])
    expect(repeated(cluster.effects)).toEqual([])
  })

  it.each(['now', 'after-model', 'after-tools'] as const)('are cancelled %s from any process', async (mode) => {
    const run = talk(cluster.runner(), { turns: 20, wordMs: 10, callMs: 10 })
    await run.seen(asked)
    const began = performance.now()
    expect(await cluster.runner().cancel(run.ref, { mode })).toBe(true)
    expect(await run.ended).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(await faultsOf(cluster.store, run.ref, run.runId, run.events)).toEqual([])
    expect(await cluster.runner().cancel(run.ref)).toBe(false)
  })

  it('end as cancelled if the worker dies after the cancel', async () => {
    const run = talk(cluster.runner(), { turns: 20, calls: ['look'], wordMs: 10, callMs: 300 })
    await run.seen(({ type }) => type === 'tool-start')
    await cluster.runner().cancel(run.ref, { mode: 'after-tools' })
    const [speaker] = cluster.speakers(run.events)
    if (!speaker) throw new Error('nobody speaks')
    cluster.removeWorker(speaker)
    await speaker.kill()
    expect(await run.ended).toMatchObject({ outcome: 'cancelled' })
    await cluster.addWorker()
  })

  it('are cancelled by an operator of Restate', async () => {
    const run = talk(cluster.runner(), { turns: 20, wordMs: 20 })
    await run.seen(asked)
    const [row] = await cluster.restate.ask(`select id from sys_invocation where idempotency_key = '${run.runId}'`)
    await fetch(`${cluster.restate.admin}/invocations/${row?.id}/cancel`, { method: 'PATCH' })
    expect(await run.ended).toMatchObject({ outcome: 'cancelled' })
  })

  it('are cancelled when their consumer leaves', async () => {
    const ref = thread()
    for await (const { type } of cluster.runner().run(JSON.stringify({ turns: 20, wordMs: 20 }), { session: ref })) {
      if (type === 'text-delta') break
    }
    await expect
      .poll(async () => (await cluster.store.threads.get(ref))?.unfinished, { timeout: 5_000 })
      .toBeUndefined()
  })

  it('are shown by another process, without a gap or a duplicate', async () => {
    const first = talk(cluster.runner(), { turns: 2, wordMs: 20 })
    await first.seen(asked)
    const { ref, runId } = first
    const goOn = cluster.runner().continue?.(ref, { runId, again: true })
    if (!goOn) throw new Error('it cannot continue')
    const second = read(goOn, ref, runId)
    await Promise.all([first.ended, second.ended])
    expect(second.events).toEqual(first.events)
  })
})
