import { HttpAgent } from '@ag-ui/client'
import { HttpAgent as HttpAgent59 } from '@ag-ui/client-0'
import { HttpAgent as HttpAgent28 } from '@ag-ui/client-28'
import { HttpAgent as HttpAgent40 } from '@ag-ui/client-40'
import { HttpAgent as HttpAgent58 } from '@ag-ui/client-58'
import { EventType } from '@ag-ui/core'
import { describe, expect, test } from 'vitest'
import type { AgUiEvent } from '../protocol.ts'
import { agUiServer } from './ag-ui-server.ts'
import { served } from './http.fixture.ts'

const event = (type: EventType, rest: object): AgUiEvent => ({ type, ...rest }) as AgUiEvent
const call = (toolCallId: string): AgUiEvent =>
  event(EventType.TOOL_CALL_START, { toolCallId, toolCallName: 'look', parentMessageId: 'm1' })
const args = (toolCallId: string): AgUiEvent => event(EventType.TOOL_CALL_ARGS, { toolCallId, delta: '{}' })
const callEnd = (toolCallId: string): AgUiEvent => event(EventType.TOOL_CALL_END, { toolCallId })
const result = (toolCallId: string, content: unknown): AgUiEvent =>
  event(EventType.TOOL_CALL_RESULT, { messageId: `${toolCallId}-result`, toolCallId, content, metadata: { a: 1 } })
const parts = [{ type: 'text', text: 'seen' }]

/** Every kind of event that a server here writes, in the order in which it writes them. */
const EVERYTHING: readonly AgUiEvent[] = [
  event(EventType.STATE_SNAPSHOT, { snapshot: { n: 0 } }),
  event(EventType.STEP_STARTED, { stepName: 'root' }),
  event(EventType.REASONING_START, { messageId: 'm1:reasoning' }),
  event(EventType.REASONING_MESSAGE_START, { messageId: 'm1:reasoning', role: 'reasoning' }),
  event(EventType.REASONING_MESSAGE_CONTENT, { messageId: 'm1:reasoning', delta: 'Hm' }),
  event(EventType.REASONING_MESSAGE_END, { messageId: 'm1:reasoning' }),
  event(EventType.REASONING_END, { messageId: 'm1:reasoning' }),
  event(EventType.TEXT_MESSAGE_START, { messageId: 'm1', role: 'assistant', name: 'root' }),
  event(EventType.TEXT_MESSAGE_CONTENT, { messageId: 'm1', delta: 'I look' }),
  call('c1'),
  args('c1'),
  call('c2'),
  event(EventType.TEXT_MESSAGE_CONTENT, { messageId: 'm1', delta: ' twice.' }),
  args('c2'),
  callEnd('c1'),
  callEnd('c2'),
  event(EventType.REASONING_ENCRYPTED_VALUE, { subtype: 'message', entityId: 'm1:reasoning', encryptedValue: 'x' }),
  event(EventType.TEXT_MESSAGE_END, { messageId: 'm1', metadata: { finishReason: 'length' } }),
  event(EventType.SUBAGENT_STARTED, { subagentRunId: 's', name: 'helper', parentToolCallId: 'c1' }),
  event(EventType.STEP_STARTED, { stepName: 'helper', subagentRunId: 's' }),
  event(EventType.TEXT_MESSAGE_START, { messageId: 'm2', role: 'assistant', subagentRunId: 's' }),
  event(EventType.TEXT_MESSAGE_CONTENT, { messageId: 'm2', delta: 'Nested.', subagentRunId: 's' }),
  event(EventType.STATE_DELTA, { delta: [{ op: 'add', path: '/m', value: 1 }], subagentRunId: 's' }),
  event(EventType.CUSTOM, { name: 'tool-delta', value: { toolCallId: 'c2', delta: '…' } }),
  event(EventType.TEXT_MESSAGE_END, { messageId: 'm2', subagentRunId: 's' }),
  event(EventType.STEP_FINISHED, { stepName: 'helper', subagentRunId: 's' }),
  event(EventType.SUBAGENT_FINISHED, { subagentRunId: 's', outcome: { type: 'success' }, result: 1 }),
  event(EventType.SUBAGENT_STARTED, { subagentRunId: 's2', name: 'helper' }),
  event(EventType.SUBAGENT_ERROR, { subagentRunId: 's2', message: 'The agent failed.', code: 'AGENT_ERROR' }),
  result('c1', parts),
  result('c2', 'seen'),
  event(EventType.ACTIVITY_SNAPSHOT, { messageId: 'a1', activityType: 'file', content: { n: 1 } }),
  event(EventType.ACTIVITY_DELTA, {
    messageId: 'a1',
    activityType: 'file',
    patch: [{ op: 'replace', path: '/n', value: 2 }],
  }),
  event(EventType.RAW, { event: { a: 1 } }),
  event(EventType.STEP_FINISHED, { stepName: 'root' }),
]
/** Events that replace all messages, which a client has to be able to read. */
const snapshot = (content: unknown): AgUiEvent =>
  event(EventType.MESSAGES_SNAPSHOT, {
    messages: [
      { id: 'u1', role: 'user', content },
      { id: 'm1:reasoning', role: 'reasoning', content: 'Hm' },
      {
        id: 'm1',
        role: 'assistant',
        content: 'I look twice.',
        toolCalls: ['c1', 'c2'].map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
      },
      { id: 'c1-result', role: 'tool', toolCallId: 'c1', content: parts, error: 'no' },
      { id: 'c2-result', role: 'tool', toolCallId: 'c2', content: 'seen' },
      { id: 'm2', role: 'assistant', content: 'Nested.', metadata: { partial: true } },
    ],
  })

interface Client {
  readonly messages: readonly { readonly id: string; readonly role: string; readonly content?: unknown }[]
  readonly state: unknown
  runAgent(): Promise<unknown>
}
type Setup = { readonly url: string; readonly threadId: string; readonly initialMessages: never[] }
const USER = { id: 'u1', role: 'user', content: 'Look' } as never
const CLIENTS: readonly (readonly [string, new (setup: Setup) => Client])[] = [
  ['0.0.28', HttpAgent28],
  ['0.0.40', HttpAgent40],
  ['0.0.58', HttpAgent58],
  ['0.0.59', HttpAgent59],
  ['1.0', HttpAgent],
]

/** What a client has after a run with these events. */
async function after(
  Agent: new (setup: Setup) => Client,
  events: readonly AgUiEvent[],
  { query = '', assumedVersion }: { query?: string; assumedVersion?: string } = {},
) {
  const { handler } = served(
    async function* () {
      yield* events
    },
    { authenticate: () => ({ user: 'ann' }), ...(assumedVersion !== undefined && { assumedVersion }) },
  )
  await using server = await agUiServer(handler)
  const client = new Agent({ url: `${server.url}${query}`, threadId: 't1', initialMessages: [USER] })
  await client.runAgent()
  const text = client.messages.flatMap(({ role, content }) => (role === 'assistant' ? (content ?? []) : []))
  const roles = client.messages.map(({ role }) => role)
  return { text: text.join('|'), roles, state: client.state }
}

describe.each(CLIENTS)('the official client %s', (version, Agent) => {
  test('reads every kind of event if it names its version in the address', async () => {
    const seen = await after(Agent, EVERYTHING, { query: `/?protocolVersion=${version}` })
    expect(seen.text).toBe('I look twice.|Nested.')
    expect(seen.state).toEqual({ n: 0, m: 1 })
    const results = seen.roles.filter((role) => role === 'tool').length
    expect(results).toBe(version === '0.0.28' ? 0 : 2)
  })

  test('and messages that are replaced', async () => {
    const content = [...parts, { type: 'image', source: { type: 'file', value: 'f1' } }]
    const seen = await after(Agent, [...EVERYTHING, snapshot(content)], { query: `/?protocolVersion=${version}` })
    expect(seen.text).toBe('I look twice.|Nested.')
  })
})

// Clients before 0.0.37 accept one thing at a time, so they have to say who they are.
test.each(CLIENTS.slice(1))(
  'the official client %s reads what a client gets that names no version',
  async (_, Agent) => {
    const seen = await after(Agent, [...EVERYTHING, snapshot('Look')])
    expect(seen.text).toBe('I look twice.|Nested.')
  },
)

test('a client that names no version gets more if the server says which one it is', async () => {
  const roles = async (assumedVersion?: string) =>
    (await after(HttpAgent59, EVERYTHING, { ...(assumedVersion && { assumedVersion }) })).roles.filter(
      (role) => role === 'reasoning' || role === 'activity',
    )
  expect([await roles(), await roles('0.0.59')]).toEqual([[], ['reasoning', 'activity']])
})
