import type { Client } from '@modelcontextprotocol/client'
import { defineTool, type Tool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { book, calling, echo, GENERATIONS, served } from './served.fixture.ts'

const text = (result: { readonly content?: unknown }) =>
  (result.content as readonly { readonly text?: string }[]).map((block) => block.text).join('\n')
const dinner = () => calling(book, { people: 4 })
const hello = { name: 'host', arguments: { message: 'Book a table' } }

const pay = (ran: string[] = []): Tool =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
    needsApproval: () => true,
    invoke({ euros }) {
      ran.push(`${euros}`)
      return `Paid ${euros}.`
    },
  })

describe.each(GENERATIONS)('questions, %s', (generation) => {
  it('a question of an agent reaches the person, and the run goes on with the answer', async () => {
    await using app = await served({ agents: [dinner()] })
    const asked: unknown[] = []
    const client = await app.connect(generation, {
      answer(params) {
        asked.push(params)
        return { action: 'accept', content: { answer: '19:30' } }
      },
    })
    const result = await client.callTool(hello)
    expect(asked).toMatchObject([
      {
        message: 'At what time, for 4?',
        requestedSchema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
      },
    ])
    expect(text(result)).toContain('It said: "A table for 4 at 19:30."')
  })

  it('a form is asked as it is, with several fields', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Asks.',
      parameters: { type: 'object' },
      async invoke(_, ctx) {
        return ctx.interrupt({
          reason: 'input',
          message: 'Who?',
          responseSchema: {
            type: 'object',
            properties: { name: { type: 'string', default: 'Ann' }, age: { type: 'integer' } },
            required: ['age'],
          },
        })
      },
    })
    await using app = await served({ tools: [ask] })
    const client = await app.connect(generation, {
      answer(params) {
        expect(params.requestedSchema).toMatchObject({ properties: { name: { default: 'Ann' } }, required: ['age'] })
        return { action: 'accept', content: { name: 'Bob', age: 7 } }
      },
    })
    const result = await client.callTool({ name: 'ask', arguments: {} })
    expect(result.structuredContent).toEqual({ name: 'Bob', age: 7 })
  })

  it.each([
    [{ action: 'accept', content: { approved: true } }, 'Paid 9.', ['9']],
    [{ action: 'accept', content: { approved: false, message: 'Too much' } }, 'Too much', []],
    [{ action: 'decline' }, 'The user refused this call.', []],
  ])('an approval is a question with a boolean: %j', async (answer, said, runs) => {
    const ran: string[] = []
    await using app = await served({ tools: [pay(ran)] })
    const client = await app.connect(generation, {
      answer(params) {
        expect(params).toMatchObject({ message: 'Allow pay?\n{"euros":9}' })
        expect(params.requestedSchema).toMatchObject({ properties: { approved: { type: 'boolean' } } })
        return answer
      },
    })
    expect(text(await client.callTool({ name: 'pay', arguments: { euros: 9 } }))).toBe(said)
    expect(ran).toEqual(runs)
  })

  it('an approval in an agent works the same', async () => {
    const ran: string[] = []
    await using app = await served({ agents: [calling(pay(ran), { euros: 9 })] })
    const client = await app.connect(generation, { answer: () => ({ action: 'accept', content: { approved: true } }) })
    expect(text(await client.callTool(hello))).toContain('Paid 9.')
    expect(ran).toEqual(['9'])
  })

  it('a client that cannot ask gets an error that names the question; one that can asks it later', async () => {
    await using app = await served({ agents: [dinner()] })
    const mute = await app.connect(generation)
    const refused = await mute.callTool(hello)
    expect(refused.isError).toBe(true)
    expect(text(refused)).toContain('INTERRUPT_UNANSWERED')
    expect(text(refused)).toContain('At what time, for 4?')
    const thread = refused._meta?.['troupe/thread']
    const client = await app.connect(generation, { answer: () => ({ action: 'accept', content: { answer: '8' } }) })
    const result = await client.callTool({ name: 'host', arguments: { message: 'And a cake', thread } })
    expect(text(result)).toContain('It said')
  })

  it('the message of a call that is asked again is said once', async () => {
    const store = memoryStore()
    await using app = await served({ agents: [dinner()], store })
    const mute = await app.connect(generation)
    const thread = (await mute.callTool(hello))._meta?.['troupe/thread'] as string
    const answer = () => ({ action: 'accept', content: { answer: '8' } })
    const client = await app.connect(generation, { answer })
    await client.callTool({ ...hello, arguments: { message: 'Book a table', thread } })
    const said = async (threadId: string) => {
      const messages = await store.threads.messages({ app: 'host', user: 'ann', threadId })
      return messages.filter(({ message }) => message.role === 'user').map(({ message }) => message.content)
    }
    expect(await said(thread)).toEqual(['Book a table'])
    const other = (await mute.callTool(hello))._meta?.['troupe/thread'] as string
    await client.callTool({ ...hello, arguments: { message: 'And a cake', thread: other } })
    expect(await said(other)).toEqual(['Book a table', 'And a cake'])
  })

  it('a person who puts the question off leaves it open', async () => {
    await using app = await served({ agents: [dinner()] })
    let action = 'cancel'
    const client = await app.connect(generation, { answer: () => ({ action, content: { answer: '20:00' } }) })
    const off = await client.callTool(hello)
    expect(text(off)).toContain('INTERRUPT_UNANSWERED')
    action = 'accept'
    const thread = off._meta?.['troupe/thread']
    const result = await client.callTool({ name: 'host', arguments: { message: 'Now then', thread } })
    expect(result.isError).toBeUndefined()
  })

  it('an answer that does not fit is asked for again', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Asks.',
      parameters: { type: 'object' },
      async invoke(_, ctx) {
        const schema = { type: 'integer', minimum: 3 }
        return `Got ${await ctx.interrupt<number>({ reason: 'input', message: 'How many?', responseSchema: schema })}`
      },
    })
    await using app = await served({ tools: [ask] })
    const given = ['two', 2, 3]
    const client = await app.connect(generation, {
      answer: () => ({ action: 'accept', content: { answer: given.shift() } }),
    })
    if (generation === 'stateful') {
      // The SDK checks the answers of this generation itself.
      given.splice(0, 2)
    }
    expect(text(await client.callTool({ name: 'ask', arguments: {} }))).toBe('Got 3')
  })

  it('nothing is left of a call of a tool, and conversations of agents stay', async () => {
    const store = memoryStore()
    await using app = await served({ agents: [echo()], tools: [pay()], store })
    const client = await app.connect(generation, { answer: () => ({ action: 'accept', content: { approved: true } }) })
    await client.callTool({ name: 'pay', arguments: { euros: 9 } })
    await client.callTool({ name: 'echo', arguments: { message: 'Hi' } })
    const mute = await app.connect(generation)
    expect(text(await mute.callTool({ name: 'pay', arguments: { euros: 9 } }))).toContain('Allow pay?')
    expect(await store.threads.list({ app: 'pay', user: 'ann' })).toEqual([])
    expect(await store.threads.list({ app: 'echo', user: 'ann' })).toHaveLength(1)
  })
})

describe('states of 2026-07-28', () => {
  type Asked = { readonly requestState: string; readonly inputRequests: object }
  const ask = async (client: Client) => (await client.callTool(hello, { allowInputRequired: true })) as unknown as Asked
  const answer = (client: Client, requestState: string, key: string, value = '19:30') =>
    client.request({
      method: 'tools/call',
      params: { ...hello, requestState, inputResponses: { [key]: { action: 'accept', content: { answer: value } } } },
    })
  const keyOf = ({ inputRequests }: Asked) => Object.keys(inputRequests)[0] ?? ''
  const human = { answer: () => ({ action: 'cancel' }) }

  it('another server of the same store takes the answer', async () => {
    const store = memoryStore()
    await using one = await served({ agents: [dinner()], store })
    await using two = await served({ agents: [dinner()], store })
    const asked = await ask(await one.connect('2026-07-28', human))
    const result = await answer(await two.connect('2026-07-28', human), asked.requestState, keyOf(asked))
    expect(text(result as never)).toContain('A table for 4 at 19:30.')
  })

  it('a state that was changed, was used before, or is of another user is refused', async () => {
    await using app = await served({ agents: [dinner(), calling(book, { people: 2 }, 'other')] })
    const client = await app.connect('2026-07-28', human)
    const asked = await ask(client)
    const eve = await app.connect('2026-07-28', { ...human, user: 'eve' })
    const refused = { code: -32_602, message: 'Invalid or expired requestState' }
    const key = keyOf(asked)
    await expect(answer(eve, asked.requestState, key)).rejects.toMatchObject(refused)
    await expect(answer(client, `${asked.requestState}x`, key)).rejects.toMatchObject(refused)
    await expect(answer(client, 'made up', key)).rejects.toMatchObject(refused)
    await expect(answer(client, asked.requestState.replace('host', 'other'), key)).rejects.toMatchObject(refused)
    expect(text((await answer(client, asked.requestState, key)) as never)).toContain('at 19:30')
    await expect(answer(client, asked.requestState, key)).rejects.toMatchObject(refused)
  })

  it('of two answers at once one is taken', async () => {
    await using app = await served({ agents: [dinner()] })
    const client = await app.connect('2026-07-28', human)
    const asked = await ask(client)
    const key = keyOf(asked)
    const both = await Promise.allSettled(
      ['18:00', '19:00'].map((time) => answer(client, asked.requestState, key, time)),
    )
    const said = both.map((one) => (one.status === 'fulfilled' ? text(one.value as never) : 'refused'))
    expect(said.filter((one) => one.includes('A table for 4'))).toHaveLength(1)
  })
})
