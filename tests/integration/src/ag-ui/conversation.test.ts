import type { ResumeEntry } from '@ag-ui/core'
import { chatModelAgent } from '@troupe/chat-model'
import { defineTool, type Message, type ModelRequest, type Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ANN, Client, PICK, replica } from './in-process-client.fixture.ts'

type Step =
  | { readonly type: 'say'; readonly words: string }
  | { readonly type: 'answer'; readonly first: boolean; readonly twice: boolean }
  | { readonly type: 'resume'; readonly status: 'resolved' | 'cancelled' }
  | { readonly type: 'again' | 'move' | 'reload' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc
    .constantFrom('hi', 'pick', 'pick pick', 'pay', 'pay pick', 'city pick')
    .map((words) => ({ type: 'say', words }) as const),
  fc.record({ type: fc.constant('answer' as const), first: fc.boolean(), twice: fc.boolean() }),
  fc.record({ type: fc.constant('resume' as const), status: fc.constantFrom('resolved', 'cancelled') }),
  fc.constantFrom('again', 'move', 'reload').map((type) => ({ type }) as const),
)

/** A model that calls the tools which the last user message names, each call with its own id. */
function obedient() {
  let calls = 0
  const turn = ({ messages }: ModelRequest): ScriptedTurn => {
    const last = messages.at(-1)
    if (last?.role !== 'user') return 'Done.'
    const names = String(last.content)
      .split(' ')
      .filter((word) => word !== 'hi')
    const toolCalls = names.map((word) => ({
      id: `c${++calls}`,
      name: word === 'pick' ? PICK.name : word,
      arguments: word === 'pick' ? { from: [] } : {},
    }))
    return toolCalls.length > 0 ? { toolCalls } : 'Hello.'
  }
  return scriptedModel([turn], { repeat: true })
}

test('消息批处理: whatever a client sends in whatever order, nothing is lost, done twice or left unpaired', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      const done: string[] = []
      const parameters = { type: 'object' } as const
      const pay = defineTool({
        name: 'pay',
        description: '',
        parameters,
        needsApproval: () => true,
        invoke: (_, __, { callId }) => String(done.push(callId)),
      })
      const city = defineTool({
        name: 'city',
        description: '',
        parameters,
        invoke: async (_, ctx) => String(await ctx.interrupt({ reason: 'input' })),
      })
      const agent = chatModelAgent({ name: 'Desk', model: obedient(), tools: [pay, city] })
      await using store = memoryStore()
      const client = new Client(replica(agent, store))
      for (const action of steps) await act(client, action, () => replica(agent, store))
      await act(client, { type: 'say', words: 'hi' }, () => client.server)
      await finish(client, store)
      const messages = (await store.threads.messages(ANN, { limit: 1_000 })).map(({ message }) => message)
      expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length)
      expect(unpaired(messages)).toEqual([])
      expect(new Set(done).size).toBe(done.length)
      const users = client.messages.filter(({ role }) => role === 'user').map(({ id }) => id)
      expect(messages.filter(({ role }) => role === 'user').map(({ id }) => id)).toEqual(users)
    }),
    { numRuns: 150, seed: 11 },
  )
}, 60_000)

async function act(client: Client, action: Step, elsewhere: () => Client['server']): Promise<void> {
  const tools = [PICK]
  const open = client.pendingInterrupts.map(({ id }) => id)
  if (action.type === 'move') client.server = elsewhere()
  if (action.type === 'reload') {
    const { messages, server } = client
    client.server = server
    client.messages = [...messages]
    client.pendingInterrupts = []
  }
  if (action.type === 'again') {
    client.pendingInterrupts = []
    await client.say(undefined, { tools })
  }
  if (action.type === 'say') {
    client.pendingInterrupts = []
    await client.say(action.words, { tools })
  }
  if (action.type === 'resume') {
    const resume = open.map((id) => answer(id, action.status))
    await client.say(undefined, { tools, resume })
  }
  if (action.type === 'answer') {
    const waiting = unansweredIn(client)
    const [callId] = action.first ? waiting : waiting.toReversed()
    if (callId !== undefined) client.result(callId, 'red')
    if (callId !== undefined && action.twice) client.result(callId, 'blue')
    client.pendingInterrupts = []
    await client.say(undefined, { tools })
  }
}

/** Answers every question and every open call until nothing is open and nothing is new. */
async function finish(client: Client, { threads }: Store): Promise<void> {
  for (let quiet = 0; quiet < 2; ) {
    const { version = 0, openCalls = [], checkpoint } = (await threads.get(ANN)) ?? {}
    for (const { callId } of openCalls) client.result(callId, 'green')
    const resume = (checkpoint?.interrupts ?? []).map(({ id }) => answer(id, 'resolved'))
    client.pendingInterrupts = []
    await client.say(undefined, { tools: [PICK], ...(resume.length > 0 && { resume }) })
    quiet = (await threads.get(ANN))?.version === version ? quiet + 1 : 0
  }
  expect(await threads.get(ANN)).toMatchObject({ openCalls: [] })
}

function answer(interruptId: string, status: ResumeEntry['status']): ResumeEntry {
  return { interruptId, status, payload: { approved: true } }
}

function unansweredIn(client: Client): readonly string[] {
  const answered = new Set(client.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
  return client.messages
    .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    .filter(({ id, function: { name } }) => name === PICK.name && !answered.has(id))
    .map(({ id }) => id)
}

/** Lists calls without exactly one result, and results without a call. */
function unpaired(messages: readonly Message[]): readonly string[] {
  const results = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  const calls = messages
    .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    .map(({ id }) => id)
  return [
    ...calls.filter((id) => results.filter((result) => result === id).length !== 1),
    ...results.filter((id) => !calls.includes(id)),
  ]
}
