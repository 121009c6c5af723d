import { chatModelAgent } from '@troupe/chat-model'
import { mcpTools } from '@troupe/mcp'
import { scriptedModel } from '@troupe/testkit'
import { expect, it, vi } from 'vitest'
import { deskCommand, runnerFor, SESSION } from './agent.fixture.ts'

// Each test starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

it.each(['stateful', 'both'] as const)(
  'resources and prompts are tools where they are wanted (%s)',
  async (generation) => {
    const desk = { ...deskCommand(generation), resources: true, prompts: true, instructions: true }
    await using tools = mcpTools({ servers: { desk } })
    const { query, model } = runnerFor(tools, [
      [{ name: 'desk_list_resources' }, { name: 'desk_read_resource', arguments: { uri: 'desk://menu' } }],
      [{ name: 'desk_prompt_greet', arguments: { name: 'Ann' } }],
      [{ name: 'desk_read_resource', arguments: { uri: 'desk://nothing' } }],
    ])
    const { messages } = await query('Go', { session: SESSION })
    const results = messages.filter((message) => message.role === 'tool')
    expect(results.slice(0, 3).map(({ content }) => content)).toEqual([
      'menu: desk://menu',
      'Soup and bread.',
      'Greet Ann.',
    ])
    expect(results[3]?.error?.code).toBe('MCP_CALL_FAILED')
    expect(model.requests[0]?.instruction).toContain('Say please.')
  },
)

it.each(['stateful', 'both'] as const)(
  'a server may ask the model that the app has chosen, and no other (%s)',
  async (generation) => {
    const calls = [[{ name: 'desk_sum_up' }]]
    const summing = scriptedModel(['All is well.'])
    const resultWith = async (sampling?: ReturnType<typeof chatModelAgent>) => {
      await using tools = mcpTools({ servers: { desk: deskCommand(generation) }, ...(sampling && { sampling }) })
      const { messages } = await runnerFor(tools, calls).query('Go', { session: SESSION })
      return messages.find((message) => message.role === 'tool')
    }
    expect(await resultWith(chatModelAgent({ name: 'summing', model: summing }))).toMatchObject({
      content: 'The model says: All is well.',
    })
    expect(summing.requests[0]?.messages).toMatchObject([{ role: 'user', content: 'Sum up.' }])
    expect((await resultWith())?.error?.code).toBe('MCP_CALL_FAILED')
  },
)

it('a tool of a server that is not trusted asks before each call', async () => {
  await using tools = mcpTools({ servers: { desk: { ...deskCommand('both'), trusted: false } } })
  const { query, resume, model } = runnerFor(tools, [[{ name: 'desk_echo', arguments: { text: 'Hi' } }]])
  const { outcome, interrupts } = await query('Go', { session: SESSION })
  expect(outcome).toBe('interrupted')
  expect(interrupts).toMatchObject([{ reason: 'approval' }])
  const done = await resume({ [interrupts?.[0]?.id ?? '']: { approved: true } }, { session: SESSION })
  expect(done.messages.find(({ role }) => role === 'tool')?.content).toBe('Hi')
  expect(model.requests).toHaveLength(2)
})
