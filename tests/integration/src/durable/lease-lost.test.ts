import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { AgentEvent, ChatModel, ModelPart, Store, Tool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { ANN } from './killable.fixture.ts'

const USAGE = { inputTokens: 1, outputTokens: 1 }
const tick = () => new Promise<void>((resolve) => void setImmediate(resolve))

/** A model that calls a tool, then answers; `hang` comes in the middle of the answer. */
function model(hang: ((signal: AbortSignal) => Promise<never>) | undefined): ChatModel {
  return {
    name: 'test',
    async *stream({ messages }, { signal }): AsyncGenerator<ModelPart> {
      if (messages.at(-1)?.role === 'user') {
        yield { type: 'text-delta', delta: 'I look.' }
        yield { type: 'tool-call-start', callId: 'c1', name: 'look' }
        yield { type: 'tool-call-delta', callId: 'c1', delta: '{}' }
        yield { type: 'tool-call-end', callId: 'c1' }
        yield { type: 'finish', reason: 'tool-calls', usage: USAGE }
        return
      }
      yield { type: 'text-delta', delta: hang ? 'It is a' : 'It is red.' }
      await hang?.(signal)
      yield { type: 'finish', reason: 'stop', usage: USAGE }
    },
  }
}

function look(hang: ((signal: AbortSignal) => Promise<never>) | undefined): Tool {
  return {
    name: 'look',
    description: '',
    parameters: { type: 'object' },
    kind: 'read',
    effect: 'idempotent',
    invoke: (_, ctx) => (hang ? hang(ctx.signal) : { content: 'red' }),
  }
}

test.each(['model', 'tool'])(
  'what a run showed when it lost its lease in a %s call is corrected when it is continued',
  async (at) => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const untilHung = Promise.withResolvers<void>()
    const hang = (signal: AbortSignal) => {
      untilHung.resolve()
      return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const stuck: Store = { ...store, leases: { ...store.leases, renew: () => new Promise<never>(() => {}) } }
    const desk = (hangs: boolean) =>
      runner({
        agent: chatModelAgent({
          name: 'Desk',
          description: '',
          model: model(hangs && at === 'model' ? hang : undefined),
          tools: [look(hangs && at === 'tool' ? hang : undefined)],
        }),
        store: hangs ? stuck : store,
        clock,
        report: () => {},
      })
    const seen: AgentEvent[] = []
    const reading = (async () => {
      const run = desk(true).query('Go', { session: ANN, runId: 'R' })
      for await (const event of run.eventsWithoutThrowing()) seen.push(event)
    })()
    await untilHung.promise
    for (let renewals = 0; renewals < 20; renewals++) {
      clock.advance(2_000)
      await tick()
    }
    await reading
    expect(seen.at(-1)).toMatchObject({ type: 'run-end', outcome: 'failed', error: { code: 'LEASE_LOST' } })

    for await (const event of desk(false).continue(ANN, { shown: seen.slice() })) seen.push(event)
    const stored = (await store.threads.messages(ANN, { limit: 10 })).map(({ message }) => message)
    expect(stored.at(-1)).toMatchObject({ content: 'It is red.' })
    expect(lastSeen(seen)).toEqual(stored.slice(1).map(({ id, content }) => [id, content]))
  },
)

/** The messages that readers have at last: what ends again replaces what ended before. */
function lastSeen(events: readonly AgentEvent[]): readonly (readonly [string, unknown])[] {
  const messages = new Map<string, unknown>()
  for (const event of events) {
    if (event.type === 'tool-end') messages.set(event.messageId, event.content)
    if (event.type !== 'message-end') continue
    if (event.dropped) messages.delete(event.message.id)
    else messages.set(event.message.id, event.message.content)
  }
  return [...messages]
}
