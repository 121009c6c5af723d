import { agentWithOptions, rewriteHistory, setSubAgents } from '@troupe/flow'
import type { Message } from '@troupe/kernel'
import { defineTool } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { brief, calling, contextOfTransfer, ownTransfer, scriptedTree, toAgent } from './scripted-tree.fixture.ts'

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  parameters: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
  kind: 'read',
  invoke: ({ what }) => `found ${what}`,
})
const lookingUp = (what: string) => calling({ id: `look-${what}`, name: 'look_up', arguments: { what } })

describe('child back to parent and on to another child', () => {
  const makeTree = () =>
    scriptedTree(
      {
        Router: [lookingUp('router'), toAgent('A'), toAgent('B')],
        A: [lookingUp('a'), { text: 'Not mine.', ...toAgent('Router') }],
        B: [lookingUp('b'), 'Done by B.'],
      },
      ({ Router, A, B }) => setSubAgents(Router, [A, B]),
      { with: { Router: { tools: [lookUp] }, A: { tools: [lookUp] }, B: { tools: [lookUp] } } },
    )

  test('the messages of the others are context, in order, and its own are untouched with their tool pairs', async () => {
    const { models, ask } = makeTree()
    const { text, turns } = await ask('Hi')
    expect(text).toBe('Done by B.')
    expect(turns).toEqual(['Router', 'Router/A', 'Router/A/Router', 'Router/A/Router/B'])
    const own = ['assistant look_up({"what":"router"})', 'tool look_up: found router', ...ownTransfer('A')]
    const ofRouter = [
      'user For context: [Router] called tool: `look_up` with arguments: {"what":"router"}.',
      'user For context: [Router] `look_up` tool returned result: found router.',
      ...contextOfTransfer('Router', 'A'),
    ]
    const ofA = [
      'user For context: [A] called tool: `look_up` with arguments: {"what":"a"}.',
      'user For context: [A] `look_up` tool returned result: found a.',
      'user For context: [A] said: Not mine.. [A] called tool: `transfer_to_agent` with arguments: {"agent_name":"Router"}.',
      'user For context: [A] `transfer_to_agent` tool returned result: successfully transferred to agent [Router].',
    ]
    expect(brief(models.Router.requests[2]?.messages)).toEqual(['user Hi', ...own, ...ofA])
    expect(brief(models.A.requests[0]?.messages)).toEqual(['user Hi', ...ofRouter])
    expect(brief(models.B.requests[1]?.messages)).toEqual([
      'user Hi',
      ...ofRouter,
      ...ofA,
      ...contextOfTransfer('Router', 'B'),
      'assistant look_up({"what":"b"})',
      'tool look_up: found b',
    ])
  })

  test('the next question goes to the root, which sees the whole thread with its own messages untouched', async () => {
    const tree = scriptedTree({ Router: [toAgent('A'), 'Me again.'], A: ['I am A.'] }, ({ Router, A }) =>
      setSubAgents(Router, [A]),
    )
    await tree.ask('One')
    await tree.move()
    const { turns } = await tree.ask('Two')
    expect(turns).toEqual(['Router'])
    expect(brief(tree.models.Router.requests[1]?.messages)).toEqual([
      'user One',
      ...ownTransfer('A'),
      'user For context: [A] said: I am A..',
      'user Two',
    ])
  })

  test('what an agent sees of the past is the same in the same run and in the next one', async () => {
    const scripts = { Router: [toAgent('A'), toAgent('A')], A: [toAgent('Router'), 'Once more.', 'Next.'] }
    const tree = scriptedTree(scripts, ({ Router, A }) => setSubAgents(Router, [A]))
    await tree.ask('One')
    const [first, second] = tree.models.A.requests
    expect(second?.messages.slice(0, first?.messages.length)).toEqual(first?.messages)
  })
})

describe('skipTransferMessages', () => {
  test('leaves out the transfers of all agents, and keeps the text beside them', async () => {
    const { models, ask } = scriptedTree(
      { Router: [{ text: 'One moment.', ...toAgent('A') }, 'The end.'], A: [lookingUp('a'), toAgent('Router')] },
      ({ Router, A }) =>
        setSubAgents(agentWithOptions(Router, { skipTransferMessages: true }), [
          agentWithOptions(A, { skipTransferMessages: true }),
        ]),
      { with: { A: { tools: [lookUp] } } },
    )
    await ask('Hi')
    expect(brief(models.A.requests[0]?.messages)).toEqual(['user Hi', 'user For context: [Router] said: One moment..'])
    expect(brief(models.Router.requests[1]?.messages)).toEqual([
      'user Hi',
      'assistant One moment.',
      'user For context: [A] called tool: `look_up` with arguments: {"what":"a"}.',
      'user For context: [A] `look_up` tool returned result: found a.',
    ])
  })

  test('a router that only transferred, and gets the conversation straight back, runs again', async () => {
    const { models, ask } = scriptedTree(
      { Router: [toAgent('A'), 'The end.'], A: [toAgent('Router')] },
      ({ Router, A }) => setSubAgents(agentWithOptions(Router, { skipTransferMessages: true }), [A]),
    )
    const { text } = await ask('Hi')
    expect(text).toBe('The end.')
    expect(brief(models.Router.requests[1]?.messages)).toEqual(['user Hi'])
  })
})

describe('media and reasoning', () => {
  const image = { type: 'file', mediaType: 'image/png', data: 'AAAA' } as const
  const camera = defineTool({
    name: 'camera',
    description: 'Takes a picture.',
    parameters: { type: 'object' },
    invoke: () => ({ content: [{ type: 'text', text: 'a cat' }, image] }),
  })

  test('media of another agent stays, reasoning goes; for itself both stay', async () => {
    const { models, ask } = scriptedTree(
      {
        Router: [{ reasoning: 'Hm.', text: 'Look.', ...calling('camera') }, toAgent('A'), 'The end.'],
        A: [{ reasoning: 'Secret.', text: 'I see.', ...toAgent('Router') }],
      },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { tools: [camera] } } },
    )
    await ask('Hi')
    const [, said, shown] = models.A.requests[0]?.messages ?? []
    expect(said?.content).toBe('For context: [Router] said: Look.. [Router] called tool: `camera` with arguments: {}.')
    expect(shown?.content).toEqual([
      { type: 'text', text: 'For context: [Router] `camera` tool returned result: a cat.' },
      image,
    ])
    expect(JSON.stringify(models.A.requests)).not.toContain('Hm.')
    const back = models.Router.requests[2]?.messages as readonly Message[]
    expect(back[1]?.content).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Look.' },
    ])
    expect(back[2]).toMatchObject({ role: 'tool', content: [{ type: 'text', text: 'a cat' }, image] })
    expect(JSON.stringify(back)).not.toContain('Secret.')
  })

  test('media of a user goes to every agent as it is', async () => {
    const { models, give } = scriptedTree({ Router: [toAgent('A')], A: ['A cat.'] }, ({ Router, A }) =>
      setSubAgents(Router, [A]),
    )
    await give({ id: 'u', role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] })
    expect(models.A.requests[0]?.messages[0]?.content).toEqual([{ type: 'text', text: 'What is this?' }, image])
  })
})

describe('historyRewriter', () => {
  test('makes the history of its own agent only', async () => {
    const seen: string[] = []
    const { models, ask } = scriptedTree(
      { Router: [toAgent('A')], A: [toAgent('B')], B: ['The end.'] },
      ({ Router, A, B }) =>
        setSubAgents(Router, [
          setSubAgents(
            agentWithOptions(A, {
              historyRewriter(messages, ctx) {
                seen.push(ctx.agentName)
                return rewriteHistory(messages, ctx.agentName)
                  .filter(({ role }) => role === 'user')
                  .slice(0, 1)
              },
            }),
            [B],
          ),
        ]),
    )
    await ask('Hi')
    expect(seen).toEqual(['A'])
    expect(brief(models.A.requests[0]?.messages)).toEqual(['user Hi'])
    expect(brief(models.B.requests[0]?.messages)).toEqual([
      'user Hi',
      ...contextOfTransfer('Router', 'A'),
      ...contextOfTransfer('A', 'B'),
    ])
  })

  test('one that gives the raw history makes no model input unsound', async () => {
    const { models, ask } = scriptedTree({ Router: [toAgent('A')], A: ['The end.'] }, ({ Router, A }) =>
      setSubAgents(Router, [agentWithOptions(A, { historyRewriter: (messages) => messages })]),
    )
    expect((await ask('Hi')).text).toBe('The end.')
    expect(brief(models.A.requests[0]?.messages)).toEqual(['user Hi', ...ownTransfer('A')])
  })

  test('one that tears a call from its result is mended before the model sees it', async () => {
    const { models, ask } = scriptedTree({ Router: [toAgent('A')], A: ['The end.'] }, ({ Router, A }) =>
      setSubAgents(Router, [
        agentWithOptions(A, { historyRewriter: (messages) => messages.filter(({ role }) => role !== 'tool') }),
      ]),
    )
    expect((await ask('Hi')).text).toBe('The end.')
    expect(models.A.requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', name: 'transfer_to_agent' })
  })
})
