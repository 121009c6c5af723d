import type { AgUiAgent, AgUiEvent, RunAgentInput } from '@troupe/ag-ui'
import { strictVerifier } from '@troupe/ag-ui/verify'
import { defineTool, type Message } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, test } from 'vitest'
import { ANN, PICK, replica, scripted } from './in-process-client.fixture.ts'

const input = (runId: string, text: string): RunAgentInput => ({
  threadId: ANN.threadId,
  runId,
  messages: [{ id: `u-${runId}`, role: 'user', content: text }],
  tools: [PICK],
  context: [],
})

/** An agent that calls two tools in parallel and then answers, twice. */
function setup() {
  const ran: string[] = []
  const tool = (name: string) =>
    defineTool({
      name,
      description: name,
      parameters: { type: 'object' },
      invoke: async () => {
        ran.push(name)
        await new Promise((resolve) => setImmediate(resolve))
        return `${name} ran`
      },
    })
  const turns = [
    {
      text: ['Let ', 'me ', 'look'],
      toolCalls: [
        { id: 'c1', name: 'one' },
        { id: 'c2', name: 'two' },
      ],
    },
    { text: ['Here ', 'it ', 'is.'] },
  ]
  const { agent } = scripted([...turns, ...turns], [tool('one'), tool('two')])
  const store = memoryStore()
  return { ran, store, server: replica(agent, store) }
}

/** Reads a run and does something at one of its events; verifies all events, unless the reader has left. */
async function read(
  server: AgUiAgent,
  at: number,
  act: (controller: AbortController) => unknown,
): Promise<AgUiEvent[] | 'left'> {
  const controller = new AbortController()
  const verifier = strictVerifier()
  const events: AgUiEvent[] = []
  for await (const event of server.run(input('first', 'Look'), { signal: controller.signal })) {
    verifier.see(event)
    if (events.push(event) - 1 === at && (await act(controller)) === 'leave') return 'left'
  }
  verifier.end()
  return events
}

function unpaired(messages: readonly Message[]): number {
  const results = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  return calls.filter(({ id }) => results.filter((result) => result === id).length !== 1).length
}

const WAYS: [string, (server: AgUiAgent) => (controller: AbortController) => unknown][] = [
  ['its reader leaves', () => () => 'leave'],
  ['its signal aborts', () => (controller) => controller.abort()],
  ['it is cancelled', (server) => () => server.cancel(ANN, 'first')],
]

describe.each(WAYS)('生命周期: a run ends in one terminal and leaves a thread that can be used, when %s', (_, way) => {
  test('at any of its events', async () => {
    const whole = setup()
    const all = await read(whole.server, -1, () => undefined)
    expect(all.length).toBeGreaterThan(15)
    expect(whole.ran).toEqual(['one', 'two'])
    for (let at = 0; at < all.length; at++) {
      const { server, store, ran } = setup()
      await read(server, at, way(server))
      expect([at, server.activeExecutions]).toEqual([at, 0])
      expect([at, (await store.threads.get(ANN))?.runId]).toEqual([at, undefined])
      expect(ran.length).toBeLessThanOrEqual(2)
      const events: AgUiEvent[] = []
      for await (const event of server.run(input('second', 'Again'))) events.push(event)
      expect([at, events.at(-1)?.type]).toEqual([at, 'RUN_FINISHED'])
      const messages = (await store.threads.messages(ANN, { limit: 100 })).map(({ message }) => message)
      expect([at, unpaired(messages)]).toEqual([at, 0])
    }
  }, 60_000)
})

test('a tool does not start behind a reader who leaves at the end of its call', async () => {
  const { server, ran } = setup()
  const all = await read(setup().server, -1, () => undefined)
  const end = (all as AgUiEvent[]).findLastIndex(({ type }) => type === 'TOOL_CALL_END')
  expect(end).toBeGreaterThan(0)
  await read(server, end, () => 'leave')
  await new Promise((resolve) => setImmediate(resolve))
  expect(ran).toEqual([])
})
