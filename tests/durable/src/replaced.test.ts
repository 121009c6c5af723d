import { chatModelAgent } from '@troupe/chat-model'
import { remoteRunner } from '@troupe/durable'
import { runner } from '@troupe/flow'
import { type Callback, type ChatModel, defineTool, type ModelPart } from '@troupe/kernel'
import { nextMacrotask, systemClock } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { faultsOf } from './check-run.ts'
import { MemoryEngine } from './memory-engine.ts'
import { read, thread } from './talk.ts'

const usage = { inputTokens: 1, outputTokens: 1 }

/** A model that calls both tools at once, and answers then. */
const model: ChatModel = {
  name: 'both',
  async *stream({ messages }) {
    const calls = messages.some(({ role }) => role === 'tool') ? [] : ['quick', 'slow']
    for (const name of calls) {
      yield { type: 'tool-call-start', callId: name, name }
      yield { type: 'tool-call-delta', callId: name, delta: '{}' }
      yield { type: 'tool-call-end', callId: name }
    }
    if (calls.length === 0) yield { type: 'text-delta', delta: 'Done.' }
    yield { type: 'finish', reason: calls.length > 0 ? 'tool-calls' : 'stop', usage }
  },
}

describe('an attempt that was replaced', () => {
  it('stands still: it is not aborted, ends nothing, and what it still does counts nowhere', async () => {
    const store = memoryStore()
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    const signals: AbortSignal[] = []
    const ends: string[] = []
    const tool = (name: string, invoke: () => string | Promise<string>) =>
      defineTool({
        name,
        description: 'Does.',
        parameters: { type: 'object' },
        effect: 'idempotent',
        invoke(_, { signal }) {
          if (name === 'slow') signals.push(signal)
          return invoke()
        },
      })
    let slow = 0
    const tools = [tool('quick', () => 'quick'), tool('slow', () => gates[slow++]?.promise ?? 'late')]
    const agent = chatModelAgent({ name: 'assistant', model, tools })
    const ended = (outcome: string) => () => void ends.push(outcome)
    const callback: Callback = { name: 'ends', run: { onEnd: ended('end'), onError: ended('error') } }
    // The first attempt is given up when `quick` is recorded and `slow` is under way.
    const engine = new MemoryEngine(store, (host) => runner({ agent, callbacks: [callback], ...host }), [
      { when: 'after', entry: 2 },
    ])
    const parts = { agent, name: 'assistant', store, engine, clock: systemClock, shared: [], submitMs: 1_000 }
    const ref = thread()
    const run = read(remoteRunner(parts).run('Go.', { session: ref, runId: 'r' }), ref, 'r')
    await expect.poll(() => slow, { timeout: 5_000 }).toBe(2)
    gates[1]?.resolve('second')
    expect(await run.ended).toMatchObject({ outcome: 'complete', text: 'Done.' })
    const entries = engine.entries.length
    gates[0]?.resolve('first')
    for (let turn = 0; turn < 20; turn++) await nextMacrotask()
    expect([engine.attempts, signals.map(({ aborted }) => aborted)]).toEqual([2, [false, false]])
    expect([engine.entries.length, ends]).toEqual([entries, ['end']])
    expect(await faultsOf(store, ref, 'r', run.events)).toEqual([])
    const results = (await store.threads.messages(ref)).flatMap(({ message }) =>
      message.role === 'tool' ? [message.content] : [],
    )
    expect(results).toEqual(['quick', 'second'])
  })

  it('may open the thread just before the next one takes its lease, and the run goes on', async () => {
    const store = memoryStore()
    const agent = chatModelAgent({ name: 'assistant', model: { ...model, stream: saysHello } })
    const opening = Promise.withResolvers<void>()
    const opened = Promise.withResolvers<void>()
    let [commits, gets] = [0, 0]
    const threads: typeof store.threads = {
      ...store.threads,
      async commit(ref, commit, token) {
        if (commits++ > 0) return store.threads.commit(ref, commit, token)
        // The first attempt is replaced as it opens the thread; its write arrives late.
        engine.giveUp()
        await opening.promise
        const thread = await store.threads.commit(ref, commit, token)
        opened.resolve()
        return thread
      },
      async get(ref) {
        const thread = await store.threads.get(ref)
        if (commits === 1 && gets++ === 0) {
          opening.resolve()
          await opened.promise
        }
        return thread
      },
    }
    const watched = { ...store, threads }
    const engine = new MemoryEngine(watched, (host) => runner({ agent, ...host }))
    const parts = { agent, name: 'assistant', store, engine, clock: systemClock, shared: [], submitMs: 1_000 }
    const ref = thread()
    const run = read(remoteRunner(parts).run('Hi.', { session: ref, runId: 'late' }), ref, 'late')
    expect(await run.ended).toMatchObject({ outcome: 'complete', text: 'Hello.' })
    expect(await faultsOf(store, ref, 'late', run.events)).toEqual([])
    expect([engine.attempts, gets > 0]).toEqual([3, true])
  })
})

async function* saysHello(): AsyncGenerator<ModelPart, void> {
  yield { type: 'text-delta', delta: 'Hello.' }
  yield { type: 'finish', reason: 'stop', usage }
}
