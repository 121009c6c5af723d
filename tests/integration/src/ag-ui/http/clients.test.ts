import { HttpAgent, type RunAgentInput } from '@ag-ui/client'
import { HttpAgent as OldHttpAgent } from '@ag-ui/client-0'
import { type AgUiEvent, agUiHandler } from '@troupe/ag-ui'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { agUiServer } from '@troupe/ag-ui/node'
import { strictVerifier } from '@troupe/ag-ui/verify'
import { runner } from '@troupe/flow'
import { defineTool, type Store, type Tool } from '@troupe/kernel'
import type { ScriptedTurn } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { ANN, PICK, picking, STORES, scripted } from '../in-process-client.fixture.ts'

const weather = defineTool({
  name: 'get_weather',
  description: 'Tells the weather.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  invoke: ({ city }) => `Sunny in ${city}.`,
})

const approved = defineTool({
  name: 'send_mail',
  description: 'Sends.',
  parameters: { type: 'object', properties: {} },
  needsApproval: () => true,
  invoke: () => 'Sent.',
})

async function serve(store: Store, turns: readonly ScriptedTurn[], tools: readonly Tool[] = []) {
  const { agent } = scripted(turns, tools)
  const owner = { app: ANN.app, user: ANN.user }
  return agUiServer(agUiHandler({ runner: runner({ agent, store }), store, owner, report: () => {} }))
}

/** A client that asks for an encoding and keeps the events that it gets. */
function clientFor(Agent: typeof HttpAgent, accept: string) {
  return class extends Agent {
    readonly seen: AgUiEvent[] = []

    protected override requestInit(input: RunAgentInput): RequestInit {
      const init = super.requestInit(input)
      return { ...init, headers: { ...(init.headers as Record<string, string>), Accept: accept } }
    }

    async say(text?: string, parameters: Parameters<HttpAgent['runAgent']>[0] = {}): Promise<string | undefined> {
      if (text !== undefined) this.addMessage({ id: crypto.randomUUID(), role: 'user', content: text })
      this.seen.length = 0
      await this.runAgent(parameters, { onEvent: ({ event }) => void this.seen.push(event as AgUiEvent) })
      return this.seen.at(-1)?.type
    }
  }
}

const CLIENTS: [string, typeof HttpAgent][] = [
  ['1.0.0', HttpAgent],
  ['0.0.59', OldHttpAgent as unknown as typeof HttpAgent],
]

describe.each(STORES)('%s', (_, store) => {
  describe.each(CLIENTS)('HttpAgent %s', (version, Agent) => {
    it.each(['text/event-stream', 'application/vnd.ag-ui.event+proto'])(
      'talks, calls tools and is asked over %s',
      async (accept) => {
        await using database = store()
        const turns: ScriptedTurn[] = [
          { text: ['Let me ', 'look.'], toolCalls: [{ name: 'get_weather', arguments: { city: 'Beijing' } }] },
          { reasoning: 'Easy.', text: ['It is ', 'sunny.'] },
          picking('c1'),
          'Red it is.',
          { toolCalls: [{ name: 'send_mail' }] },
          'Done.',
        ]
        await using server = await serve(database, turns, [weather, approved])
        const agent = new (clientFor(Agent, accept))({ url: server.url, threadId: ANN.threadId })

        expect(await agent.say('Weather?')).toBe('RUN_FINISHED')
        expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'It is sunny.' })
        // The protobuf of the older client cannot express a result.
        const results = agent.messages.filter(({ role, content }) => role === 'tool' && content === 'Sunny in Beijing.')
        expect(results).toHaveLength(version === '0.0.59' && accept !== 'text/event-stream' ? 0 : 1)

        expect(await agent.say('Pick one.', { tools: [PICK] })).toBe('RUN_FINISHED')
        const call = agent.messages
          .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
          .at(-1)
        agent.addMessage({ id: 'answer', role: 'tool', toolCallId: call?.id ?? '', content: 'red' })
        expect(await agent.say(undefined, { tools: [PICK] })).toBe('RUN_FINISHED')
        expect(agent.messages.at(-1)).toMatchObject({ content: 'Red it is.' })

        expect(await agent.say('Send it.')).toBe('RUN_FINISHED')
        expect(agent.pendingInterrupts).toHaveLength(1)
        const resume = agent.pendingInterrupts.map(({ id }) => ({
          interruptId: id,
          status: 'resolved' as const,
          payload: { approved: true },
        }))
        expect(await agent.say(undefined, { resume })).toBe('RUN_FINISHED')
        expect(agent.messages.at(-1)).toMatchObject({ content: 'Done.' })
      },
    )
  })

  it('a reload joins what was said, what is asked and what waits', async () => {
    await using database = store()
    await using server = await serve(database, ['Hello.', { toolCalls: [{ name: 'send_mail' }] }, 'Done.'], [approved])
    const first = new ResumableHttpAgent({ url: server.url, threadId: 't9' })
    first.addMessage({ id: 'u1', role: 'user', content: 'Hi' })
    await first.runAgent()
    first.addMessage({ id: 'u2', role: 'user', content: 'Send.' })
    await first.runAgent()

    const second = new ResumableHttpAgent({ url: server.url, threadId: 't9' })
    await second.connectAgent()
    expect(second.messages.map(({ role }) => role)).toEqual(first.messages.map(({ role }) => role))
    expect(second.messages.map(({ id }) => id)).toEqual(first.messages.map(({ id }) => id))
    expect(second.pendingInterrupts.map(({ id }) => id)).toEqual(first.pendingInterrupts.map(({ id }) => id))
    const resume = second.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: 'resolved' as const,
      payload: { approved: true },
    }))
    await second.runAgent({ resume })
    expect(second.messages.at(-1)).toMatchObject({ content: 'Done.' })
  })

  it('what is replayed passes the strict verifier and is what was live', async () => {
    await using database = store()
    await using server = await serve(
      database,
      [{ toolCalls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] }, 'Cold.'],
      [weather],
    )
    const body = JSON.stringify({
      threadId: 't1',
      runId: 'r1',
      protocolVersion: '1.0',
      messages: [{ id: 'u1', role: 'user', content: 'Hi' }],
      tools: [],
      context: [],
    })
    const live = await (
      await fetch(server.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    ).text()
    const replayed = await (await fetch(`${server.url}/threads/t1/runs/r1?protocolVersion=1.0`)).text()
    const parsed = (text: string) =>
      text
        .split('\n\n')
        .flatMap((frame) => (frame ? [JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as AgUiEvent] : []))
    expect(parsed(replayed)).toEqual(parsed(live))
    const verifier = strictVerifier({ messages: [{ id: 'u1', role: 'user', content: 'Hi' }] })
    for (const event of parsed(replayed)) verifier.see(event)
    verifier.end()
  })
})
