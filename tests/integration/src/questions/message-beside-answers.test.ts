import { chatModelAgent } from '@troupe/chat-model'
import { runner, sequential } from '@troupe/flow'
import { type Agent, defineTool, type Message, type Store, say, type ThreadRef, textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { sqliteStore } from '@troupe/store-sqlite'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'

const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't1' }
const NEXT: Message = { id: 'u2', role: 'user', content: 'And the balance?' }
const PAY: ScriptedTurn = { toolCalls: [{ id: 'c1', name: 'pay', arguments: {} }] }

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: { type: 'object' },
  needsApproval: () => true,
  invoke: () => 'Paid.',
})

/** Asks twice before it does anything. */
const move = defineTool({
  name: 'move',
  description: 'Moves money.',
  parameters: { type: 'object' },
  async invoke(_, ctx) {
    const from = await ctx.interrupt({ reason: 'input', key: 'from' })
    const to = await ctx.interrupt({ reason: 'input', key: 'to' })
    return `Moved from ${from} to ${to}.`
  },
})

const STORES: [string, () => Store][] = [
  ['in memory', () => memoryStore()],
  ['in SQLite', () => sqliteStore({ path: ':memory:' })],
]

function lines(messages: readonly Message[]): readonly string[] {
  return messages.map(({ role, content }) => `${role}: ${textOf(content)}`)
}

/** An agent with a scripted model, and a runner that has asked it to pay. */
async function asked(store: Store, turns: readonly ScriptedTurn[], durability: 'step' | 'turn' = 'step') {
  const model = scriptedModel(turns)
  const agent = chatModelAgent({ name: 'desk', model, tools: [pay, move] })
  const flow = runner({ agent, store, durability, report: () => {} })
  const first = await flow.run('Pay', { session: ANN })
  return {
    flow,
    question: first.interrupts?.[0]?.id ?? '',
    heard: () => lines(model.requests.at(-1)?.messages ?? []),
    model,
    stored: async () => lines((await store.threads.messages(ANN)).map(({ message }) => message)),
  }
}

describe.each(STORES)('a message beside answers, %s', (_, make) => {
  it.each(['step', 'turn'] as const)('follows the results, in one request to the model (%s)', async (durability) => {
    await using store = make()
    const { flow, question, heard, stored, model } = await asked(store, [PAY, 'Paid; 12 left.', 'Bye.'], durability)
    const options = { session: ANN, messages: [NEXT], processed: ['u2'] }
    const { text } = await flow.resume({ [question]: { approved: true } }, options)
    expect(text).toBe('Paid; 12 left.')
    expect(heard()).toEqual(['user: Pay', 'assistant: ', 'tool: Paid.', 'user: And the balance?'])
    expect(model.requests).toHaveLength(2)
    expect(await stored()).toEqual([...heard(), 'assistant: Paid; 12 left.'])
    expect(await store.threads.processed(ANN, ['u2'])).toEqual(['u2'])
    await flow.run('Thanks', { session: ANN })
    expect(heard().slice(-3)).toEqual(['user: And the balance?', 'assistant: Paid; 12 left.', 'user: Thanks'])
  })

  it('follows a refusal', async () => {
    await using store = make()
    const { flow, question, heard } = await asked(store, [PAY, '12.'])
    await flow.resume({}, { session: ANN, messages: [NEXT], closed: [question] })
    expect(heard().slice(-2)).toEqual(['tool: The user refused this call.', 'user: And the balance?'])
  })

  it('waits with the next question, and is not lost', async () => {
    await using store = make()
    const moves: ScriptedTurn = { toolCalls: [{ id: 'c1', name: 'move', arguments: {} }] }
    const { flow, question, heard, stored, model } = await asked(store, [moves, 'Moved; 12 left.'])
    const again = await flow.resume({ [question]: 'a' }, { session: ANN, messages: [NEXT], processed: ['u2'] })
    expect(again.outcome).toBe('interrupted')
    expect(model.requests).toHaveLength(1)
    await flow.resume({ [again.interrupts?.[0]?.id ?? '']: 'b' }, { session: ANN })
    expect(heard().slice(-2)).toEqual(['tool: Moved from a to b.', 'user: And the balance?'])
    expect((await stored()).filter((line) => line === 'user: And the balance?')).toHaveLength(1)
  })

  it('is answered too when the next question is dropped', async () => {
    await using store = make()
    const moves: ScriptedTurn = { toolCalls: [{ id: 'c1', name: 'move', arguments: {} }] }
    const { flow, question, heard } = await asked(store, [moves, 'Never mind; 12.'])
    await flow.resume({ [question]: 'a' }, { session: ANN, messages: [NEXT] })
    await flow.run('Leave it.', { session: ANN, pending: 'drop' })
    expect(heard().slice(-2)).toEqual(['user: And the balance?', 'user: Leave it.'])
  })

  it('begins another turn if no agent asks a model', async () => {
    await using store = make()
    const heard: (readonly string[])[] = []
    const clerk: Agent = {
      name: 'clerk',
      description: 'Asks.',
      async *run({ messages }, ctx) {
        heard.push(lines(messages))
        if (heard.length === 1) await ctx.interrupt({ reason: 'input' })
        yield* say(ctx, `Said ${messages.length}.`)
      },
    }
    const flow = runner({ agent: clerk, store, report: () => {} })
    const { interrupts } = await flow.run('Hi', { session: ANN })
    const { text } = await flow.resume({ [interrupts?.[0]?.id ?? '']: 1 }, { session: ANN, messages: [NEXT] })
    expect(text).toBe('Said 3.')
    expect(heard).toEqual([['user: Hi'], ['user: Hi'], ['user: Hi', 'assistant: Said 1.', 'user: And the balance?']])
  })

  it('begins another turn after a workflow', async () => {
    await using store = make()
    const model = scriptedModel([PAY, 'Paid.', 'Checked.', '12.', 'Checked again.'])
    const first = chatModelAgent({ name: 'payer', model, tools: [pay] })
    const second = chatModelAgent({ name: 'checker', model })
    const flow = runner({ agent: sequential({ name: 'desk', agents: [first, second] }), store })
    const { interrupts } = await flow.run('Pay', { session: ANN })
    const answers = { [interrupts?.[0]?.id ?? '']: { approved: true } }
    const { text } = await flow.resume(answers, { session: ANN, messages: [NEXT] })
    expect(text).toBe('Checked again.')
    expect(lines(model.requests[3]?.messages ?? []).at(-1)).toBe('user: And the balance?')
  })

  it('is in the thread when the run is stopped', async () => {
    await using store = make()
    const { flow, question, stored } = await asked(store, [PAY, { hang: 'before' }, '12.'])
    const stop = new AbortController()
    const run = flow.resume({ [question]: { approved: true } }, { session: ANN, messages: [NEXT], signal: stop.signal })
    for await (const event of run.eventsWithoutThrowing()) if (event.type === 'tool-end') stop.abort()
    expect((await stored()).slice(-2)).toEqual(['tool: Paid.', 'user: And the balance?'])
  })

  it('refuses anything but user messages, and changes nothing', async () => {
    await using store = make()
    const { flow, question } = await asked(store, [PAY, 'Paid.'])
    const message: Message = { id: 'x', role: 'assistant', content: 'No.' }
    const wrong = flow.resume({ [question]: { approved: true } }, { session: ANN, messages: [message] })
    await expect(wrong).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    const { text } = await flow.resume({ [question]: { approved: true } }, { session: ANN })
    expect(text).toBe('Paid.')
  })
})
