import { EventType, type ResumeEntry } from '@ag-ui/core'
import { defineTool, type Json, type Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import {
  ANN,
  Client,
  linesOf,
  PICK,
  picking,
  replica,
  STORES,
  scripted,
  storedLines,
} from './in-process-client.fixture.ts'

const store = () => (STORES[1] as (typeof STORES)[0])[1]()

/** An agent with a tool that needs approval, one that asks for a city, and one whose question expires. */
function desk(turns: Parameters<typeof scripted>[0]) {
  const paid: string[] = []
  const parameters = { type: 'object' } as const
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters,
    needsApproval: () => true,
    invoke(args, _, { callId }) {
      const { to } = args as { to?: string }
      return `paid ${String(paid.push(callId))}${to === undefined ? '' : ` to ${to}`}`
    },
  })
  const city = defineTool({
    name: 'city',
    description: 'Asks for a city.',
    parameters,
    invoke: async (_, ctx) =>
      `chose ${String(await ctx.interrupt({ reason: 'input', message: 'Which?', responseSchema: { type: ['string', 'null'] } }))}`,
  })
  const soon = defineTool({
    name: 'soon',
    description: 'Asks for a moment.',
    parameters,
    invoke: async (_, ctx) => String(await ctx.interrupt({ reason: 'input', expiresAt: ctx.clock.now() + 40 })),
  })
  const strict = defineTool({
    name: 'strict',
    description: 'Asks for a text.',
    parameters,
    invoke: async (_, ctx) =>
      String(await ctx.interrupt({ reason: 'input', responseSchema: { type: 'string', minLength: 1 } })),
  })
  return { paid, ...scripted(turns, [pay, city, soon, strict]) }
}
const call = (name: string, id: string = name) => ({ id, name, arguments: {} })
/** Answers the questions that a client has seen, by the call that asks. */
const answering =
  ({ pendingInterrupts }: Client) =>
  (callId: string, payload: Json = { approved: true }): ResumeEntry => {
    const { id } =
      pendingInterrupts.find(({ toolCallId }) => toolCallId === callId) ?? expect.fail(`not asked: ${callId}`)
    return { interruptId: id, status: 'resolved', payload }
  }
type Yes = ReturnType<typeof answering>
const asked = (client: Client) => client.pendingInterrupts.map(({ id }) => id)

async function asking(...names: readonly string[]) {
  const place = store()
  const { agent, model, paid } = desk([{ toolCalls: names.map((name) => call(name)) }, 'Done.', 'And more.'])
  const client = new Client(replica(agent, place))
  expect(await client.say('Go', { tools: [PICK] })).toBe('interrupt')
  return {
    place,
    agent,
    model,
    paid,
    client,
    yes: answering(client),
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]()
    },
  }
}
const frozen = async (place: Store) => JSON.stringify([await place.threads.get(ANN), await storedLines(place)])

describe('HITL: questions of a run', () => {
  test('go out as interrupts, with schema and expiry, after the state and the messages', async () => {
    await using world = await asking('pay', 'city', 'soon')
    const { client } = world
    expect(client.pendingInterrupts).toMatchObject([
      {
        id: expect.stringMatching(/^pay#/),
        reason: 'tool_call',
        toolCallId: 'pay',
        responseSchema: { properties: { approved: {}, editedArgs: { type: 'object' } }, required: ['approved'] },
      },
      { id: expect.stringMatching(/^city#/), reason: 'input_required', message: 'Which?', toolCallId: 'city' },
      { id: expect.stringMatching(/^soon#/), expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
    ])
    const last = client.seen.slice(-2).map(({ type }) => type)
    expect(last).toEqual([EventType.MESSAGES_SNAPSHOT, EventType.RUN_FINISHED])
  })

  test('are answered by one resume array, on another replica', async () => {
    await using world = await asking('pay', 'city')
    const { client, agent, place, model, paid, yes } = world
    client.server = replica(agent, place)
    expect(await client.say(undefined, { resume: [yes('city', 'Beijing'), yes('pay')] })).toBe('success')
    expect([client.text, paid, asked(client)]).toEqual(['Done.', ['pay'], []])
    expect(linesOf(model.requests[1]?.messages).slice(2)).toEqual(['tool pay: paid 1', 'tool city: chose Beijing'])
  })

  test('edited arguments replace those of the call, in the words of the protocol', async () => {
    await using world = await asking('pay')
    const { client, model, yes } = world
    const payload = { approved: true, editedArgs: { to: 'Bob' }, message: null }
    expect(await client.say(undefined, { resume: [yes('pay', payload)] })).toBe('success')
    expect(linesOf(model.requests[1]?.messages).slice(2)).toEqual(['tool pay: paid 1 to Bob'])
  })

  test('that the user cancels are closed, whatever their schema', async () => {
    await using world = await asking('pay', 'strict')
    const { client, paid, model } = world
    const resume: ResumeEntry[] = asked(client).map((interruptId) => ({ interruptId, status: 'cancelled' }))
    expect(await client.say(undefined, { resume })).toBe('success')
    expect(paid).toEqual([])
    expect(linesOf(model.requests[1]?.messages).slice(2)).toEqual([
      'tool pay: The user refused this call.',
      'tool strict: null',
    ])
  })

  test('of an agent that is gone can be cancelled', async () => {
    await using world = await asking('pay')
    const { client, place } = world
    const { agent } = scripted(['Where were we?'], [], 'Other')
    client.server = replica(agent, place)
    const resume: ResumeEntry[] = asked(client).map((interruptId) => ({ interruptId, status: 'cancelled' }))
    expect(await client.say(undefined, { resume })).toBe('success')
    expect(client.text).toBe('Where were we?')
  })

  test('that the user cancels are refused, or answered with null', async () => {
    await using world = await asking('pay', 'city')
    const { client, paid, model } = world
    const resume: ResumeEntry[] = asked(client).map((interruptId) => ({ interruptId, status: 'cancelled' }))
    expect(await client.say(undefined, { resume })).toBe('success')
    expect(paid).toEqual([])
    expect(linesOf(model.requests[1]?.messages).slice(2)).toEqual([
      'tool pay: The user refused this call.',
      'tool city: chose null',
    ])
  })
})

describe('HITL: a resume array that does not fit is RUN_ERROR, and nothing changes', () => {
  /** Most of these the client would not send. */
  const send = async (client: Client, resume: ResumeEntry[]) => {
    client.pendingInterrupts = []
    return client.say(undefined, { resume })
  }
  test.each([
    ['one is missing', (yes) => [yes('pay')], 'INTERRUPT_UNANSWERED'],
    [
      'one is unknown',
      (yes) => [yes('pay'), yes('city', 'x'), { ...yes('pay'), interruptId: 'other#x' }],
      'INTERRUPT_UNKNOWN',
    ],
    ['one does not fit its schema', (yes) => [yes('pay', 'sure'), yes('city', 'x')], 'VALIDATION_FAILED'],
    [
      'one has a field that the question does not have',
      (yes) => [yes('pay', { approved: true, editedArguments: {} }), yes('city', 'x')],
      'VALIDATION_FAILED',
    ],
    [
      'one edits with a text',
      (yes) => [yes('pay', { approved: true, editedArgs: '{}' }), yes('city', 'x')],
      'VALIDATION_FAILED',
    ],
    [
      'one edits twice',
      (yes) => [yes('pay', { approved: true, editedArgs: {}, arguments: '{}' }), yes('city', 'x')],
      'VALIDATION_FAILED',
    ],
    [
      'one approves without a word',
      (yes) => [{ interruptId: yes('pay').interruptId, status: 'resolved' }, yes('city', 'x')],
      'VALIDATION_FAILED',
    ],
  ] as [string, (yes: Yes) => ResumeEntry[], string][])('%s', async (_, resume, code) => {
    await using world = await asking('pay', 'city')
    const { yes } = world
    const before = await frozen(world.place)
    expect(await send(world.client, resume(yes))).toBe(code)
    expect(await frozen(world.place)).toBe(before)
    expect(world.paid).toEqual([])
    expect(await send(world.client, [yes('pay'), yes('city', 'Rome')])).toBe('success')
  })

  test('one is too late', async () => {
    const clock = fakeClock()
    await using place = memoryStore({ clock })
    const { agent, model } = desk([{ toolCalls: [call('soon')] }, 'Done.', 'Hello.'])
    const client = new Client(replica(agent, place, { clock }, { clock }))
    await client.say('Go')
    clock.advance(40)
    const before = await frozen(place)
    expect(await send(client, [answering(client)('soon', 'x')])).toBe('INTERRUPT_EXPIRED')
    expect(await frozen(place)).toBe(before)
    // The client's own advice: "Cancel it to continue the thread."
    await client.say()
    const resume: ResumeEntry[] = asked(client).map((interruptId) => ({ interruptId, status: 'cancelled' }))
    expect(await client.say(undefined, { resume })).toBe('success')
    expect(linesOf(model.requests[1]?.messages).slice(2)).toEqual(['tool soon: null'])
    expect(await client.say('Hello')).toBe('success')
  })

  test('it is of another user', async () => {
    await using world = await asking('pay')
    const eve = new Client(replica(world.agent, world.place, { userId: 'eve' }))
    expect(await send(eve, [world.yes('pay')])).toBe('INTERRUPT_UNKNOWN')
    expect(world.paid).toEqual([])
  })
})

describe('HITL: answers and other things', () => {
  test('the same answer again is safe: nothing is done twice, and it is no error', async () => {
    await using world = await asking('pay')
    const { client, agent, place, paid, model } = world
    const resume = [world.yes('pay')]
    expect(await client.say(undefined, { resume })).toBe('success')
    const before = await storedLines(place)
    client.server = replica(agent, place)
    expect(await client.say(undefined, { resume })).toBe('success')
    expect([paid, model.requests.length, await storedLines(place)]).toEqual([['pay'], 2, before])
  })

  test('two answers at the same time: one is taken', async () => {
    await using world = await asking('pay')
    const { client, agent, place, paid } = world
    const second = new Client(replica(agent, place))
    const resume = [world.yes('pay')]
    const ends = await Promise.all([client.say(undefined, { resume }), second.say(undefined, { resume })])
    expect(paid).toEqual(['pay'])
    expect(ends).toContain('success')
  })

  test('a request without anything new asks again, so that no client takes the question for answered', async () => {
    await using world = await asking('pay')
    const reloaded = new Client(replica(world.agent, world.place))
    expect(await reloaded.say()).toBe('interrupt')
    expect(asked(reloaded)).toEqual(asked(world.client))
    expect(asked(reloaded)).toHaveLength(1)
  })

  test('text while a question is open is PENDING_TOOL_CALLS; it comes after the answer, in the same request', async () => {
    await using world = await asking('pay')
    const { client, model } = world
    client.pendingInterrupts = []
    expect(await client.say('Well?')).toBe('PENDING_TOOL_CALLS')
    expect(await client.say(undefined, { resume: [world.yes('pay')] })).toBe('success')
    expect(client.text).toBe('Done.')
    expect(linesOf(model.requests[1]?.messages).slice(-2)).toEqual(['tool pay: paid 1', 'user Well?'])
    expect(await client.say()).toBe('success')
    expect(model.requests).toHaveLength(2)
    expect((await storedLines(world.place)).slice(-3)).toEqual(['tool pay: paid 1', 'user Well?', 'assistant Done.'])
  })

  test('text beside an answer stays on the screen while the next question is open', async () => {
    await using place = store()
    const ask = defineTool({
      name: 'ask',
      description: 'Asks twice.',
      parameters: { type: 'object' },
      invoke: async (_, ctx) =>
        `${await ctx.interrupt({ reason: 'input', key: 'a' })}, ${await ctx.interrupt({ reason: 'input', key: 'b' })}`,
    })
    const { agent, model } = scripted([{ toolCalls: [call('ask')] }, 'Done.'], [ask])
    const client = new Client(replica(agent, place))
    await client.say('Go')
    expect(await client.say('Hurry!', { resume: [answering(client)('ask', 'one')] })).toBe('interrupt')
    expect(client.messages.at(-1)).toMatchObject({ role: 'user', content: 'Hurry!' })
    expect(await client.say(undefined, { resume: [answering(client)('ask', 'two')] })).toBe('success')
    expect(linesOf(model.requests[1]?.messages).slice(-2)).toEqual(['tool ask: one, two', 'user Hurry!'])
    expect((await storedLines(place)).filter((line) => line === 'user Hurry!')).toHaveLength(1)
  })

  test('results of client tools may come with the answers', async () => {
    const place = store()
    const turn = { toolCalls: [call('pay'), { id: 'c1', name: PICK.name, arguments: { from: [] } }] }
    const { agent, model, paid } = desk([turn, 'Done.'])
    const client = new Client(replica(agent, place))
    expect(await client.say('Go', { tools: [PICK] })).toBe('interrupt')
    client.result('c1', 'red')
    client.server = replica(agent, place)
    expect(await client.say(undefined, { resume: [answering(client)('pay')] })).toBe('success')
    expect([client.text, paid]).toEqual(['Done.', ['pay']])
    expect(linesOf(model.requests[1]?.messages).slice(2)).toEqual(['tool pay: paid 1', 'tool pick_colour: red'])
    expect(await place.threads.get(ANN)).toMatchObject({ openCalls: [] })
    await place[Symbol.asyncDispose]()
  })

  test('or after them, or before them', async () => {
    for (const resultFirst of [true, false]) {
      const place = store()
      const turn = { toolCalls: [call('pay'), { id: 'c1', name: PICK.name, arguments: { from: [] } }] }
      const { agent, paid } = desk([turn, 'Done.'])
      const client = new Client(replica(agent, place))
      await client.say('Go', { tools: [PICK] })
      if (resultFirst) {
        client.result('c1', 'red')
        client.pendingInterrupts = []
        expect(await client.say()).toBe('interrupt')
        expect(await client.say(undefined, { resume: [answering(client)('pay')] })).toBe('success')
      } else {
        expect(await client.say(undefined, { resume: [answering(client)('pay')] })).toBe('success')
        expect(client.pending).toEqual(['c1'])
        client.result('c1', 'red')
        expect(await client.say()).toBe('success')
      }
      expect([resultFirst, client.text, paid]).toEqual([resultFirst, 'Done.', ['pay']])
      await place[Symbol.asyncDispose]()
    }
  })

  test('the state of the client comes with the answer', async () => {
    const place = store()
    const seen: unknown[] = []
    const peek = defineTool({
      name: 'peek',
      description: 'Looks.',
      parameters: { type: 'object' },
      needsApproval: () => true,
      invoke: (_, ctx) => {
        seen.push(Object.fromEntries([...ctx.state.keys()].map((key) => [key, ctx.state.get(key)])))
        return 'seen'
      },
    })
    const { agent } = scripted([{ toolCalls: [call('peek')] }, 'Done.'], [peek])
    const client = new Client(replica(agent, place, { clientState: 'replace' }))
    client.setState({ a: 1, gone: true })
    await client.say('Go')
    client.setState({ a: 2, 'temp:x': 3 })
    expect(await client.say(undefined, { resume: [answering(client)('peek')] })).toBe('success')
    expect(seen).toEqual([{ a: 2, 'temp:x': 3 }])
    expect((await place.threads.get(ANN))?.state).toEqual({ a: 2 })
    expect(client.state).toEqual({ a: 2 })
    await place[Symbol.asyncDispose]()
  })
})

test('a second call of a client tool after an answer keeps its order', async () => {
  const place = store()
  const { agent, model } = desk([{ toolCalls: [call('pay')] }, picking('c1'), 'Done.'])
  const client = new Client(replica(agent, place))
  await client.say('Go', { tools: [PICK] })
  expect(await client.say(undefined, { tools: [PICK], resume: [answering(client)('pay')] })).toBe('success')
  expect(client.pending).toEqual(['c1'])
  client.result('c1', 'blue')
  expect(await client.say(undefined, { tools: [PICK] })).toBe('success')
  expect(linesOf(model.requests[2]?.messages)).toEqual([
    'user Go',
    'assistant -> pay',
    'tool pay: paid 1',
    'assistant -> pick_colour',
    'tool pick_colour: blue',
  ])
  await place[Symbol.asyncDispose]()
})
