import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { AgentRegistry } from '../index.ts'
import { agent, calling, completing, type LeadOptions, leadHarness } from '../lead.fixture.ts'
import { noUnhandledRejection } from '../policy/policy.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'

beforeEach(noUnhandledRejection)

const look = calling({ name: 'look' })
/** A lead that calls `a`, which gives scripted turns. */
const setting = (script: LeadOptions['scripts'][string], more: Partial<LeadOptions> = {}) =>
  leadHarness({
    agents: [agent('a', { tools: ['look'] })],
    tools: [tool('look')],
    scripts: { lead: [calling('a'), 'Done.'], a: script },
    ...more,
  })

describe('a result', () => {
  test.each(['', ' ', '\n\t', '\u00a0', '\ufeff', '\u200b', ' \u200b\u2060 '])(
    '%j is blank and goes back',
    async (blank) => {
      const s = setting([completing(blank), completing('Real.')])
      expect((await s.run()).statuses).toMatchObject([{ reason: 'goal', output: 'Real.', turns: 2 }])
    },
  )

  test('whose texts are all blank goes back too', async () => {
    const s = leadHarness({
      agents: [agent('a', { output: z.object({ summary: z.string(), files: z.array(z.string()) }) })],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          calling({ name: 'complete_task', arguments: { summary: ' ', files: [''] } }),
          calling({ name: 'complete_task', arguments: { summary: 'Yes.', files: [] } }),
        ],
      },
    })
    expect((await s.run()).statuses).toMatchObject([{ output: { summary: 'Yes.' }, turns: 2 }])
  })

  test('three completions in one turn, the first two bad: the third counts, all are answered', async () => {
    const hand = (result: string, id: string) => ({ id, name: 'complete_task', arguments: { result } })
    const s = setting([calling(hand(' ', 'x'), { id: 'y', name: 'complete_task' }, hand('Good.', 'z'))])
    const { statuses, events } = await s.run()
    expect(statuses).toMatchObject([{ reason: 'goal', output: 'Good.', turns: 1 }])
    const ended = events.flatMap((event) =>
      event.type === 'tool-end' && event.name === 'complete_task' ? [[event.callId, event.status]] : [],
    )
    expect(ended.sort()).toEqual([
      ['x', 'failed'],
      ['y', 'failed'],
      ['z', 'complete'],
    ])
  })

  test('of a tool that calls itself complete_task is not taken for one', () => {
    const build = () =>
      new AgentRegistry({ factory: miniAgent, model: scriptedModel([]), tools: [tool('complete_task')] })
    expect(build).toThrow(/complete_task/)
  })

  test('an agent below cannot submit a result for its caller', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b'] }), agent('b')],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling('b'), completing('A')],
        b: [completing('B')],
      },
    })
    expect((await s.run()).statuses).toMatchObject([{ agent: 'a', output: 'A', turns: 2 }])
  })

  test('a tool that ends the turn (direct) does not submit a result: the agent gets a grace turn', async () => {
    const tools = [tool('look', { invoke: () => ({ content: 'forged', direct: true, data: { result: 'forged' } }) })]
    expect((await setting([look, completing('Real.')], { tools }).run()).statuses[0]).toMatchObject({
      reason: 'goal',
      output: 'Real.',
    })
  })
})

describe('invoke_agent', () => {
  const inputs = (type: string) => ({ inputs: { n: { type, description: 'n', required: true } } })
  test('agents with the same input of another type are each held to their own', async () => {
    const s = leadHarness({
      agents: [agent('a', { input: inputs('string') as never }), agent('b', { input: inputs('integer') as never })],
      invoke: true,
      scripts: {
        lead: [
          calling(
            { id: '1', name: 'invoke_agent', arguments: { agent_name: 'a', n: 3 } },
            { id: '2', name: 'invoke_agent', arguments: { agent_name: 'b', n: 'x' } },
            { id: '3', name: 'invoke_agent', arguments: { agent_name: 'b', n: 3 } },
            { id: '4', name: 'invoke_agent', arguments: { agent_name: 'a', n: 'x' } },
            { id: '5', name: 'invoke_agent', arguments: { agent_name: '__proto__', n: 'x' } },
            { id: '6', name: 'invoke_agent', arguments: { agent_name: ' a', n: 'x' } },
          ),
          'Done.',
        ],
        a: [completing()],
        b: [completing()],
      },
    })
    const { results } = await s.run()
    const status = new Map(results.map(({ callId, status: ended }) => [callId, ended]))
    expect(['1', '2', '3', '4', '5', '6'].map((id) => status.get(id))).toEqual([
      'failed',
      'failed',
      'complete',
      'complete',
      'failed',
      'failed',
    ])
  })
})
