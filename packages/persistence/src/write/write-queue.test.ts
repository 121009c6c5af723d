import { type Callback, KernelError, type RecordCommand, type RunInfo } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { messageLifecycle } from '../message-lifecycle.ts'
import {
  ANN,
  calm,
  type Fault,
  greeter,
  input,
  type RecordsHarness,
  recordsHarness,
  talker,
} from '../persistence.fixture.ts'
import { toolLifecycle } from '../tool-lifecycle.ts'

/** A run whose callbacks a test calls by hand. */
function manualRun(callback: Callback, runId: string, session = ANN) {
  const info: RunInfo = { component: 'run', name: 'agent', agentName: 'agent', runId, spanId: `${runId}/run`, session }
  const stamp = { runId, agentName: 'agent', runPath: [] }
  let text = ''
  return {
    start: () => callback.run?.onStart?.(info, input),
    say(delta: string) {
      text += delta
      callback.run?.onPart?.(info, { type: 'text-delta', messageId: 'm', delta, ...stamp })
    },
    end: () =>
      callback.run?.onEnd?.(info, {
        outcome: 'complete',
        text,
        messages: [],
        usage: { inputTokens: 0, outputTokens: 0 },
      }),
  }
}

const texts = (store: RecordsHarness['store']) =>
  store.written.flat().filter((command): command is RecordCommand & { type: 'run-text' } => command.type === 'run-text')
const types = (store: RecordsHarness['store']) => store.written.map((batch) => batch.map(({ type }) => type))

describe('WriteQueue', () => {
  it('性能影响: 5,000 deltas are a few writes, no longer than the limit each, and the first is at once', async () => {
    const { run, store, messages, notifications } = await recordsHarness()
    await run(talker(...Array.from({ length: 5_000 }, (_, i) => `${i} `)))
    await messages.flush()
    const [record] = await store.records.runs(ANN)
    expect(record?.text).toBe(Array.from({ length: 5_000 }, (_, i) => `${i} `).join(''))
    expect(store.written.flat().length).toBeLessThan(15)
    expect(types(store)[0]).toEqual(['run-start'])
    const shown = notifications.filter(({ type }) => type === 'continue')
    expect(shown.map(({ text }) => text).join('')).toBe(record?.text)
    let offset = 0
    for (const { startAt, text } of shown) {
      expect(startAt).toBe(offset)
      offset += text.length
    }
  })

  it('writes text when its time has come, in one command, with one timer for all', async () => {
    const { store, messages, clock } = await recordsHarness()
    const [a, b] = [manualRun(messages, 'a'), manualRun(messages, 'b')]
    a.start()
    b.start()
    await calm()
    for (const word of ['one ', 'two ', 'three']) {
      a.say(word)
      b.say(word)
    }
    expect(clock.pending).toBe(1)
    await calm()
    expect(texts(store)).toEqual([])
    clock.advance(50)
    await calm()
    expect(texts(store).map(({ runId, offset, text }) => [runId, offset, text])).toEqual([
      ['a', 0, 'one two three'],
      ['b', 0, 'one two three'],
    ])
    expect(clock.pending).toBe(0)
  })

  it('a delta costs no timer, no promise and no command of its own', async () => {
    const { messages, clock, store } = await recordsHarness()
    const run = manualRun(messages, 'a')
    run.start()
    await calm()
    const attempts = store.attempts
    for (let i = 0; i < 100; i++) run.say('x')
    await calm()
    expect(clock.pending).toBe(1)
    expect(store.attempts).toBe(attempts)
  })

  it('what comes while a write is under way goes with the next one, together', async () => {
    const { messages, store } = await recordsHarness()
    store.fault = 'late'
    const run = manualRun(messages, 'a')
    run.start()
    await calm()
    store.fault = undefined
    for (let i = 0; i < 10; i++) run.say('x'.repeat(5_000))
    run.end()
    await calm()
    expect(store.written).toEqual([])
    store.release()
    await calm()
    expect(types(store)).toEqual([['run-start'], ['run-text', 'run-finish']])
  })

  it('a short turn is two writes: its start at once, all the rest with its end', async () => {
    const { run, store, messages } = await recordsHarness()
    await run(talker('One word.'))
    await messages.flush()
    expect(types(store)).toEqual([['run-start'], ['run-text', 'usage', 'run-finish']])
  })

  it('a thread has one line: flush waits for the next run too, when the text of the last one has waited long enough', async () => {
    const harness = await recordsHarness()
    const { messages, store, clock } = harness
    const first = manualRun(messages, 'a')
    first.start()
    await calm()
    first.say('one')
    first.end()
    await calm()
    // The first run is written and its line is gone; its text was in time to wait for more until now.
    store.fault = 'busy'
    manualRun(messages, 'b').start()
    clock.advance(50)
    await calm()
    store.fault = undefined
    await messages.flush()
    expect((await store.records.runs(ANN)).map(({ runId }) => runId)).toEqual(['a', 'b'])
  })

  it('错误恢复机制: a fault that passes is retried, nothing is lost, doubled or reported', async () => {
    for (const fault of ['busy', 'lost'] as const) {
      const harness = await recordsHarness()
      const { store, messages, clock, done, reports } = harness
      // Each write in turn: its first two attempts fail.
      store.faultOf = (write) => (write % 3 === 2 ? undefined : fault)
      const run = manualRun(messages, 'a')
      run.start()
      await patiently(harness)
      run.say('one ')
      clock.advance(50)
      await patiently(harness)
      run.say('two')
      run.end()
      await patiently(harness)
      expect(await store.records.runs(ANN), fault).toMatchObject([{ status: 'complete', text: 'one two' }])
      expect(done, fault).toMatchObject([[{ status: 'complete', text: 'one two' }]])
      expect(reports).toEqual([])
      expect(clock.pending).toBe(0)
    }
  })

  it.each(['fail', 'busy', 'hang'] as const)(
    'Eino Callback 错误处理: a store that is down (%s) is reported once, the runs go on, and all is written in order when it is back',
    async (fault) => {
      const harness = await recordsHarness()
      const { run, store, messages, clock, notifications, done, reports } = harness
      store.fault = fault
      for (let i = 1; i <= 3; i++) expect((await run(talker('a', 'b', 'c'))).outcome).toBe('complete')
      for (let i = 0; i < 20; i++) await patiently(harness, 10_000)
      expect(reports.map(({ code }) => code)).toEqual(['RECORDS_DEGRADED'])
      expect(notifications).toEqual([])
      expect(done).toEqual([])
      store.fault = undefined
      clock.advance(30_000)
      await calm()
      await messages.flush()
      expect(await store.records.runs(ANN)).toMatchObject(
        [1, 2, 3].map((n) => ({ runId: `run-${n}`, seq: n, status: 'complete', text: 'abc' })),
      )
      expect(done.map(([{ runId }]) => runId)).toEqual(['run-1', 'run-2', 'run-3'])
      expect(notifications.filter(({ messageId }) => messageId === 'run-1').map(({ type }) => type)).toEqual([
        'init',
        'continue',
        'done',
      ])
      expect(reports).toHaveLength(1)
      expect(clock.pending).toBe(0)
    },
  )

  it('reports again when the store goes down again', async () => {
    const harness = await recordsHarness()
    const { run, store, messages, clock, reports } = harness
    for (const _ of [1, 2]) {
      store.fault = 'fail'
      await run(greeter)
      for (let i = 0; i < 5; i++) await patiently(harness, 1_000)
      store.fault = undefined
      clock.advance(30_000)
      await calm()
      await messages.flush()
    }
    expect(reports.map(({ code }) => code)).toEqual(['RECORDS_DEGRADED', 'RECORDS_DEGRADED'])
  })

  it('a store that fails, hangs, loses its answer or is late at each write in turn loses and doubles nothing', async () => {
    const faults: readonly Fault[] = ['fail', 'busy', 'hang', 'lost', 'late']
    for (const fault of faults) {
      for (let at = 0; at < 5; at++) {
        const harness = await recordsHarness()
        const { store, messages, clock, done, notifications } = harness
        store.faultOf = (write) => (write === at ? fault : undefined)
        const run = manualRun(messages, 'a')
        run.start()
        for (let i = 0; i < 4; i++) {
          await patiently(harness)
          run.say(`${i} `)
          clock.advance(50)
        }
        run.end()
        for (let i = 0; i < 5; i++) await patiently(harness, 10_000)
        store.release()
        await calm()
        const what = `${fault} at ${at}`
        expect(await store.records.runs(ANN), what).toMatchObject([{ status: 'complete', text: '0 1 2 3 ' }])
        expect(done, what).toHaveLength(1)
        expect(
          notifications.filter(({ type }) => type === 'done'),
          what,
        ).toHaveLength(1)
        expect(clock.pending, what).toBe(0)
      }
    }
  })

  it('an attempt that was given up and happens after later ones does not cut the text', async () => {
    const harness = await recordsHarness()
    const { store, messages, clock } = harness
    const run = manualRun(messages, 'a')
    run.start()
    await calm()
    store.fault = 'late'
    run.say('one ')
    clock.advance(50)
    await calm()
    clock.advance(10_000)
    await calm()
    store.fault = undefined
    clock.advance(100)
    await calm()
    run.say('two ')
    clock.advance(50)
    await calm()
    expect(await store.records.runs(ANN)).toMatchObject([{ text: 'one two ' }])
    store.release()
    await calm()
    expect(await store.records.runs(ANN)).toMatchObject([{ text: 'one ' }])
    run.say('three')
    run.end()
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ text: 'one two three', status: 'complete' }])
  })

  it('text that another writer has cut is written again from its start while the run goes on', async () => {
    const { store, messages, clock, reports } = await recordsHarness()
    const run = manualRun(messages, 'a')
    run.start()
    run.say('one two ')
    await messages.flush()
    await store.records.apply(ANN, [{ type: 'run-text', runId: 'a', offset: 0, text: '' }])
    run.say('three')
    clock.advance(50)
    await calm()
    clock.advance(50)
    await calm()
    expect(await store.records.runs(ANN)).toMatchObject([{ text: 'one two three' }])
    expect(reports).toEqual([])
  })

  it('a command that the store finds malformed does not hold up the others', async () => {
    const { store, messages, done, reports } = await recordsHarness()
    const { records } = store
    const picky = {
      ...records,
      apply: (async (ref, commands) => {
        if (commands.some((command) => command.type === 'run-text')) {
          throw new KernelError('VALIDATION_FAILED', 'test: too large')
        }
        return records.apply(ref, commands)
      }) as typeof records.apply,
    }
    const other = messageLifecycle({
      store: { records: picky },
      report: (error) => void reports.push(error),
      onDone: (...args) => void done.push(args),
    })
    const run = manualRun(other, 'a')
    run.start()
    run.say('x')
    run.end()
    await other.flush()
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ status: 'complete', text: '' }])
    expect(reports.map(({ code }) => code)).toEqual(['RECORD_REFUSED'])
    expect(done).toHaveLength(1)
  })

  it('an error that does not pass is tried a few times, then the records are refused, and later ones are written again', async () => {
    const harness = await recordsHarness()
    const { store, messages, clock, reports, done, notifications } = harness
    store.fault = 'read-only'
    const run = manualRun(messages, 'first')
    run.start()
    run.say('lost')
    run.end()
    await patiently(harness, 1_000)
    expect(store.attempts).toBe(3)
    expect(done).toMatchObject([[{ runId: 'first' }, { code: 'STORE_READ_ONLY' }]])
    expect(notifications.at(-1)).toMatchObject({ type: 'failed' })
    await messages.flush()
    clock.advance(1_000_000)
    await calm()
    expect([store.attempts, clock.pending]).toEqual([3, 0])
    store.fault = undefined
    const next = manualRun(messages, 'next')
    next.start()
    next.say('kept')
    next.end()
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ runId: 'next', text: 'kept', status: 'complete' }])
    expect(reports.map(({ code }) => code)).toEqual(['RECORDS_DEGRADED', 'RECORD_REFUSED'])
    store.fault = 'read-only'
    manualRun(messages, 'third').start()
    await patiently(harness, 1_000)
    expect(reports.map(({ code }) => code).slice(2)).toEqual(['RECORDS_DEGRADED', 'RECORD_REFUSED'])
  })

  it('threads whose ids contain a separator have lanes of their own', async () => {
    const { store, messages, clock } = await recordsHarness()
    const [one, two] = [
      { app: 'app', user: 'ann', threadId: 'a\0b' },
      { app: 'app', user: 'ann\0a', threadId: 'b' },
    ]
    for (const ref of [one, two]) await store.threads.open(ref)
    const runs = [manualRun(messages, 'run-1', one), manualRun(messages, 'run-1', two)]
    for (const run of runs) run.start()
    for (const [i, run] of runs.entries()) {
      run.say(`text ${i}`)
      run.end()
    }
    clock.advance(50)
    await messages.flush()
    expect(await store.records.runs(one)).toMatchObject([{ runId: 'run-1', text: 'text 0', status: 'complete' }])
    expect(await store.records.runs(two)).toMatchObject([{ runId: 'run-1', text: 'text 1', status: 'complete' }])
  })

  it('beyond its limit new runs are left out whole, those under way are kept', async () => {
    const harness = await recordsHarness({ write: { maxPending: 10 } })
    const { store, messages, clock, reports, done } = harness
    store.fault = 'fail'
    const first = manualRun(messages, 'first')
    first.start()
    first.say('kept')
    for (let i = 0; i < 20; i++) {
      const run = manualRun(messages, `run-${i}`)
      run.start()
      run.say('text')
      run.end()
    }
    first.say(' whole')
    first.end()
    await patiently(harness, 1_000)
    store.fault = undefined
    clock.advance(30_000)
    await calm()
    await messages.flush()
    const runs = await store.records.runs(ANN)
    expect(runs[0]).toMatchObject({ runId: 'first', text: 'kept whole', status: 'complete' })
    expect(runs.length).toBeGreaterThan(1)
    expect(runs.length).toBeLessThan(20)
    for (const run of runs) expect(run.status).toBe('complete')
    expect(done).toHaveLength(21)
    expect(reports.map(({ code }) => code).sort()).toEqual(['RECORDS_DEGRADED', 'RECORDS_DROPPED'])
  })

  it('while the store is down the text of a run is kept once', async () => {
    const { store, messages } = await recordsHarness()
    store.fault = 'late'
    const run = manualRun(messages, 'a')
    run.start()
    await calm()
    for (let i = 0; i < 1_000; i++) run.say('x'.repeat(5_000))
    await calm()
    store.fault = undefined
    store.release()
    await messages.flush()
    expect(texts(store)).toHaveLength(1)
  })

  it('a message that begins while the text of the one before waits replaces it', async () => {
    const { store, messages } = await recordsHarness()
    const stamp = { runId: 'a', agentName: 'agent', runPath: [] }
    const info: RunInfo = {
      component: 'run',
      name: 'agent',
      agentName: 'agent',
      runId: 'a',
      spanId: 'a/run',
      session: ANN,
    }
    const say = (messageId: string, delta: string) =>
      messages.run?.onPart?.(info, { type: 'text-delta', messageId, delta, ...stamp })
    messages.run?.onStart?.(info, input)
    say('m1', 'first')
    await messages.flush()
    store.fault = 'late'
    messages.run?.onPart?.(info, { type: 'message-start', messageId: 'm2', ...stamp })
    const call = { name: 'look', arguments: '{}', callId: 'c', step: 'tool:0:0', idempotencyKey: 'k' }
    const tools = toolLifecycle({ messages })
    tools.tool?.onStart?.({ ...info, component: 'tool', callId: 'c' }, call)
    const flushed = messages.flush()
    await calm()
    store.fault = undefined
    // Both wait behind a write that is under way.
    say('m1', ' and more')
    void messages.flush()
    say('m2', 'second')
    store.release()
    await flushed
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ text: 'second' }])
  })

  it('when one thread can be written again the others do not wait for the end of their pause', async () => {
    const harness = await recordsHarness()
    const { store, messages, clock } = harness
    const ben = { ...ANN, user: 'ben' }
    await store.threads.open(ben)
    store.fault = 'fail'
    manualRun(messages, 'a').start()
    // The pauses of this one have grown when the other begins.
    for (let i = 0; i < 8; i++) await patiently(harness, 5_000)
    manualRun(messages, 'b', ben).start()
    await calm()
    store.fault = undefined
    clock.advance(100)
    await calm()
    expect(await store.records.runs(ben)).toHaveLength(1)
    expect(await store.records.runs(ANN)).toHaveLength(1)
  })

  it('flush waits for one thread or for all, and gives up with RECORDS_PENDING', async () => {
    const { store, messages, clock } = await recordsHarness()
    const ben = { ...ANN, user: 'ben' }
    await store.threads.open(ben)
    const [a, b] = [manualRun(messages, 'a'), manualRun(messages, 'b', ben)]
    a.start()
    await calm()
    store.fault = 'hang'
    a.say('x')
    b.start()
    const pending = messages.flush()
    const checked = expect(pending).rejects.toMatchObject({ code: 'RECORDS_PENDING', details: { pending: 2 } })
    await calm()
    clock.advance(10_000)
    await checked
    await messages.flush({ ...ANN, threadId: 'nobody' })
    store.fault = undefined
    const again = messages.flush(ANN)
    for (let i = 0; i < 3; i++) {
      await calm()
      clock.advance(100)
    }
    await again
    expect(await store.records.runs(ANN)).toMatchObject([{ text: 'x' }])
  })

  it('disposing writes what there is, leaves no timer behind, and nothing is written after it', async () => {
    const { run, store, messages, clock, done } = await recordsHarness()
    await run(talker('a'))
    const late = manualRun(messages, 'late')
    late.start()
    late.say('x')
    await messages[Symbol.asyncDispose]()
    expect(await store.records.runs(ANN)).toMatchObject([{ status: 'complete' }, { status: 'generating', text: 'x' }])
    expect(clock.pending).toBe(0)
    const { attempts } = store
    late.say('y')
    late.end()
    manualRun(messages, 'later').start()
    await calm()
    clock.advance(1_000)
    await calm()
    expect(store.attempts).toBe(attempts)
    expect(done).toHaveLength(1)
    await messages[Symbol.asyncDispose]()
  })

  it('disposing gives up on a store that is down: one coded error, every onDone called, no timer left', async () => {
    for (const fault of ['hang', 'fail'] as const) {
      const { run, store, messages, clock, done } = await recordsHarness()
      store.fault = fault
      await run(talker('a'))
      await calm()
      const checked = expect(messages[Symbol.asyncDispose]()).rejects.toMatchObject({ code: 'RECORDS_PENDING' })
      await calm()
      clock.advance(10_000)
      await checked
      expect(done).toMatchObject([[{ runId: 'run-1' }, { code: 'RECORDS_PENDING' }]])
      expect(clock.pending).toBe(0)
    }
  })
})

/** Lets time pass until nothing is under way, as far as that can be. */
async function patiently({ clock }: RecordsHarness, ms = 400): Promise<void> {
  for (let i = 0; i < 4; i++) {
    await calm()
    clock.advance(ms / 4)
  }
  await calm()
}
