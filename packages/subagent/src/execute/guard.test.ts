import type { Tool } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import type { AgentIdentity } from '../index.ts'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'

const catalogue = ['read_file', 'write_file', 'grep'].map((name) => tool(name))

describe('the guard wraps every tool of every agent', () => {
  /** Notes who calls what, and refuses what is forbidden. */
  const watching =
    (log: string[], forbidden: readonly string[] = []) =>
    (one: Tool, { path }: AgentIdentity): Tool => ({
      ...one,
      invoke(args, ctx, call) {
        log.push(`${path.join('/')} ${one.name}`)
        if (forbidden.includes(one.name)) return { content: 'no', error: { code: 'POLICY_DENIED', message: 'no' } }
        return one.invoke?.(args, ctx, call)
      },
    })

  test('with the path of the agent that has it; an agent is a tool of its caller like any other', async () => {
    const log: string[] = []
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'grep'] }), agent('b', { tools: ['grep'] })],
      tools: catalogue,
      guard: watching(log),
      scripts: {
        lead: [calling('a', 'b'), 'Done.'],
        a: [calling({ name: 'grep' }, 'b'), completing()],
        b: Array(4).fill(({ messages }: { messages: readonly unknown[] }) =>
          messages.length === 1 ? calling({ name: 'grep' }) : completing(),
        ),
      },
    })
    await s.run()
    expect(log.sort()).toEqual([' a', ' b', 'a b', 'a grep', 'a/b grep', 'b grep'])
  })

  test('by invoke_agent too, and a refusal of an agent keeps it from running', async () => {
    const log: string[] = []
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'grep'] }), agent('b')],
      tools: catalogue,
      guard: watching(log, ['b']),
      invoke: true,
      scripts: {
        lead: [calling({ name: 'invoke_agent', arguments: { agent_name: 'a', task: 't' } }), 'Done.'],
        a: [calling({ name: 'grep' }, 'b'), completing()],
        b: [completing()],
      },
    })
    const { events } = await s.run()
    expect([log, s.models.b?.requests]).toEqual([[' invoke_agent', ' a', 'a grep', 'a b'], []])
    expect(events.find((event) => event.type === 'tool-end' && event.name === 'b')).toMatchObject({
      error: { code: 'POLICY_DENIED' },
    })
  })

  test('after a resume in another process', async () => {
    const log: string[] = []
    const asks = tool('asks', { invoke: async (_, ctx) => `${await ctx.interrupt({ reason: 'input' })}` })
    const s = leadHarness({
      agents: [agent('a', { tools: ['asks', 'grep'] })],
      tools: [...catalogue, asks],
      guard: watching(log),
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling({ name: 'asks' }), calling({ name: 'grep' }), completing()],
      },
    })
    const { asked } = await s.run()
    await s.resume({ [asked[0] as string]: 'yes' })
    expect(log).toEqual([' a', 'a asks', ' a', 'a asks', 'a grep'])
  })

  test('in the grace turn there is nothing to guard: no tool but the completion tool', async () => {
    const log: string[] = []
    const s = leadHarness({
      agents: [agent('a', { tools: ['grep'] })],
      tools: catalogue,
      guard: watching(log),
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: ['Hm.', calling({ name: 'grep' }, { name: 'complete_task', arguments: { result: 'x' } })],
      },
    })
    expect((await s.run()).statuses).toMatchObject([{ reason: 'goal', recovered: true }])
    expect(log).toEqual([' a'])
  })

  test.each<[string, () => Tool]>([
    [
      'throws',
      () => {
        throw new Error('guard broke')
      },
    ],
    ['gives another tool', () => tool('other')],
    ['gives nothing', () => undefined as never],
  ])('one that %s lets nothing through', async (_, guard) => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['grep'] })],
      tools: catalogue,
      guard,
      scripts: { lead: [calling('a'), 'Done.'], a: [calling({ name: 'grep' }), completing()] },
    })
    expect((await s.run()).results).toMatchObject([{ name: 'a', status: 'failed' }])
    expect(s.models.a?.requests).toEqual([])
  })

  test('is asked once per tool and position, not per call', async () => {
    let asked = 0
    const model = scriptedModel([completing()], { repeat: true })
    const s = leadHarness({
      agents: [agent('a', { tools: ['grep'] })],
      tools: catalogue,
      guard: (one) => {
        asked++
        return one
      },
      factory: (spec) => miniAgent({ ...spec, model }),
      scripts: { lead: [calling('a', 'a', 'a'), 'Done.'] },
    })
    await s.run()
    expect(asked).toBe(2)
  })
})
