import { type Agent, type AgentEvent, type EventDraft, say } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { parallel, runner } from '../index.ts'

const session = { app: 'demo', user: 'ann', threadId: '1' }
const limits = { runChars: 10_000 }

/** An agent that writes the same events for ever; a test that fails ends too. */
function endless(name: string, ...events: readonly EventDraft[]): Agent & { readonly written: number } {
  const agent = {
    name,
    description: name,
    written: 0,
    async *run(): AsyncGenerator<EventDraft> {
      yield { type: 'message-start', messageId: `m-${name}` }
      while (++agent.written < 100_000) yield* events
    },
  }
  return agent
}

const text = { type: 'text-delta', messageId: 'm-a', delta: 'All work and no play. ' } as const

describe.each([
  ['with a session', { session }],
  ['without a session', {}],
])('a run %s', (_, request) => {
  test.each<[string, EventDraft]>([
    ['text', text],
    ['nothing', { ...text, delta: '' }],
    ['custom events', { type: 'custom', name: 'note', data: { text: 'x'.repeat(50) } }],
    ['changes of the state', { type: 'state-delta', set: { a: 'x'.repeat(50) }, removed: [] }],
  ])('that writes without an end fails with RUN_TOO_LARGE: %s', async (_kind, event) => {
    const agent = endless('a', event)
    const events: AgentEvent[] = []
    for await (const shown of runner({ agent, limits }).query('Hi', request).eventsWithoutThrowing()) events.push(shown)
    expect(events.at(-1)).toMatchObject({
      type: 'run-end',
      outcome: 'failed',
      error: { code: 'RUN_TOO_LARGE', details: limits },
    })
    expect(agent.written).toBeLessThan(limits.runChars / 16 + 2)
  })

  test('with branches counts them together', async () => {
    const agents = ['a', 'b'].map((name) => endless(name, { ...text, messageId: `m-${name}` }))
    const { query } = runner({ agent: parallel({ name: 'both', agents }), limits })
    await expect(query('Hi', request)).rejects.toMatchObject({ code: 'RUN_TOO_LARGE' })
    expect(agents.reduce((sum, { written }) => sum + written, 0)).toBeLessThan(limits.runChars / 16 + 4)
  })

  test('that fits is complete', async () => {
    const agent: Agent = { name: 'a', description: 'a', run: (_input, ctx) => say(ctx, 'x'.repeat(4_000)) }
    expect((await runner({ agent, limits }).query('Hi', request)).text).toHaveLength(4_000)
  })
})

test('the thread of a run that was too large can be used', async () => {
  let turn = 0
  const long = endless('a', text)
  const agent: Agent = {
    name: 'a',
    description: 'a',
    run: (input, ctx) => (turn++ === 0 ? long.run(input, ctx) : say(ctx, `${input.messages.length} messages`)),
  }
  const { query } = runner({ agent, limits })
  await expect(query('Hi', { session })).rejects.toMatchObject({ code: 'RUN_TOO_LARGE' })
  expect((await query('Again', { session })).text).toMatch(/messages$/)
})
