import { toAgUiMessages } from '@troupe/ag-ui'
import { KernelError, type Message, type ModelPart, type Store } from '@troupe/kernel'
import type { ScriptedTurn } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { ANN, Client, PICK, replica, STORES, scripted } from './in-process-client.fixture.ts'

const refused = new KernelError('MODEL_FAILED', 'm: bad request')
/** An answer with two calls, of which the second was only begun; one of them is of a tool of the client. */
const parts: readonly ModelPart[] = [
  { type: 'reasoning-delta', delta: 'Which one?' },
  { type: 'part-end', encrypted: 'sealed' },
  { type: 'text-delta', delta: 'Let me ' },
  { type: 'text-delta', delta: 'see.' },
  { type: 'tool-call-start', callId: 'c1', name: 'search' },
  { type: 'tool-call-delta', callId: 'c1', delta: '{}' },
  { type: 'tool-call-end', callId: 'c1' },
  { type: 'tool-call-start', callId: 'c2', name: PICK.name },
  { type: 'tool-call-delta', callId: 'c2', delta: '{"fr' },
]

/** Waits until the model has said everything, then ends the run early. */
const WAYS: [string, Partial<Exclude<ScriptedTurn, string>>, (client: Client, store: Store) => Promise<unknown>][] = [
  ['fails', { error: { at: 'after', error: refused } }, async () => undefined],
  [
    'is cancelled',
    { hang: 'after' },
    async (client) => {
      while (!client.seen.some(({ type }) => type === 'TOOL_CALL_ARGS')) await new Promise((next) => setImmediate(next))
      await client.server.cancel(ANN, client.inputs[0]?.runId ?? '')
    },
  ],
]

const stored = async (store: Store): Promise<Message[]> =>
  (await store.threads.messages(ANN, { limit: 100 })).map(({ message }) => message)
const byId = (list: readonly { id: string }[]) => [...list].sort((a, b) => (a.id < b.id ? -1 : 1))

describe.each(STORES)('%s', (_, open) => {
  test.each(WAYS)(
    'an answer that is cut off when the run %s: the client shows what is stored',
    async (_way, cut, act) => {
      const store = open()
      const { agent, model } = scripted([{ parts, ...cut }, 'Next.'])
      const client = new Client(replica(agent, store))
      const ended = client.say('Hi', { tools: [PICK] }).catch(() => undefined)
      await act(client, store)
      await ended
      expect(await stored(store)).toHaveLength(2)
      expect((await stored(store)).at(-1)).toMatchObject({ partial: true, agentName: 'Desk' })
      const live = client.messages.find(({ role }) => role === 'assistant')
      expect(live).toMatchObject({ content: 'Let me see.', metadata: { partial: true } })
      expect(byId(client.messages)).toEqual(byId(toAgUiMessages(await stored(store))))

      expect(await client.say('And?', { tools: [PICK] })).toBe('success')
      const content = [
        { type: 'reasoning', text: 'Which one?' },
        { type: 'text', text: 'Let me see.' },
      ]
      expect(model.requests[1]?.messages.map(({ content }) => content)).toEqual(['Hi', content, 'And?'])
    },
  )
})
