import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, parallel, setSubAgents } from '@troupe/flow'
import { nextMacrotask } from '@troupe/kernel/kit'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { unpaired } from './history-faults.fixture.ts'
import { brief, calling, contextOfTransfer, scriptedTree, toAgent, transferTo } from './scripted-tree.fixture.ts'
import { asks, guarded, plain, slow, tool } from './tools.fixture.ts'

const team = { id: 'team', name: 'Front', arguments: { request: 'Help.' } }
const log: string[] = []
/** A tool that ends after the calls beside it. */
const late = tool('late', {
  async invoke() {
    await nextMacrotask()
    return 'late ran'
  },
})
const tools = [asks(), slow(), slow('slower'), plain(log), guarded(log), late]

/** A lead that has a whole tree as its tool: Front, which can transfer to Back. */
function nestedTree(front: readonly ScriptedTurn[], back: readonly ScriptedTurn[]) {
  log.length = 0
  const models = { Front: scriptedModel(front), Back: scriptedModel(back) }
  const inner = () => {
    const agent = (name: 'Front' | 'Back') =>
      chatModelAgent({ name, description: name, model: models[name], tools, exit: true, retry: false })
    return agentTool(setSubAgents(agent('Front'), [agent('Back')]), { forward: true })
  }
  const tree = scriptedTree(
    { Lead: [calling(team), 'Heard.'], Other: ['Other.'] },
    ({ Lead, Other }) => setSubAgents(Lead, [Other]),
    {
      with: { Lead: { tools: [inner(), plain(log)] } },
    },
  )
  const wrong = () =>
    Object.values(models).flatMap(({ requests }) => requests.flatMap(({ messages }) => unpaired(messages)))
  return { ...models, tree, wrong }
}
const heard = (tree: ReturnType<typeof nestedTree>['tree']) => brief(tree.models.Lead.requests.at(-1)?.messages).at(-1)

describe('a tree as a tool', () => {
  test('transfers stay inside, its history is its own, its answer is the result', async () => {
    const { tree, Back } = nestedTree([toAgent('Back')], ['From the back.'])
    const { turns, text, events } = await tree.ask('Hi')
    expect([text, turns]).toEqual(['Heard.', ['Lead']])
    expect(heard(tree)).toBe('tool Front: From the back.')
    expect(brief(Back.requests[0]?.messages)).toEqual(['user Help.', ...contextOfTransfer('Front', 'Back')])
    const paths = events.flatMap((event) =>
      event.type === 'agent-start' && event.parentCallId ? [[...event.runPath, event.agentName].join('/')] : [],
    )
    expect(paths).toEqual(['Lead/Front', 'Lead/Front/Back'])
    expect(brief(await tree.history())).toEqual([
      'user Hi',
      'assistant Front({"request":"Help."})',
      'tool Front: From the back.',
      'assistant Heard.',
    ])
  })

  test('exit stays inside', async () => {
    const { tree } = nestedTree(
      [toAgent('Back')],
      [calling({ id: 'x', name: 'exit', arguments: { final_result: 'Bye.' } })],
    )
    expect((await tree.ask('Hi')).text).toBe('Heard.')
    expect(heard(tree)).toBe('tool Front: Bye.')
  })

  test('a transfer to an unknown agent inside is a failed call, which the lead can handle', async () => {
    const { tree } = nestedTree([toAgent('Other')], [])
    const { text, toolEnds } = await tree.ask('Hi')
    expect([text, toolEnds[0]?.status]).toEqual(['Heard.', 'failed'])
    expect(heard(tree)).toContain("transfer failed: agent 'Other' not found when transferring from 'Front'")
  })

  test('a question of the agent at the back comes out, and its answer goes in to where it was asked', async () => {
    const { tree, Back, wrong } = nestedTree([toAgent('Back')], [calling('asks', 'plain', 'guarded'), 'From the back.'])
    const first = await tree.ask('Hi')
    expect(first.interrupts).toMatchObject([
      { agentName: 'Back', callId: 'team', reason: 'input' },
      { agentName: 'Back', callId: 'team', reason: 'approval' },
    ])
    const [one = '', two = ''] = first.interrupts.map(({ id }) => id)
    await tree.move()
    expect((await tree.answer({ [two]: { approved: true } })).interrupts.map(({ id }) => id)).toEqual([one])
    await tree.move()
    expect((await tree.answer({ [one]: 'yes' })).text).toBe('Heard.')
    expect([log, wrong()]).toEqual([['plain', 'guarded {}'], []])
    expect(brief(Back.requests[1]?.messages).slice(-3)).toEqual([
      'tool asks: heard yes',
      'tool plain: plain ran',
      'tool guarded: guarded ran',
    ])
  })

  test('after a question, another agent of the tree sees the results in the order of the calls', async () => {
    const { tree, Back } = nestedTree([calling('late', 'plain'), toAgent('Back')], [calling('slow'), 'From the back.'])
    await tree.ask('Hi')
    await tree.answerAll('At last.')
    expect(brief(Back.requests[1]?.messages).filter((line) => line.includes('returned result'))).toEqual([
      'user For context: [Front] `late` tool returned result: late ran.',
      'user For context: [Front] `plain` tool returned result: plain ran.',
      contextOfTransfer('Front', 'Back')[1],
    ])
  })

  test('long-running calls at the back come out as questions, one after the other', async () => {
    const { tree, Back, wrong } = nestedTree(
      [toAgent('Back')],
      [calling('slow', 'asks'), calling('slower'), 'From the back.'],
    )
    const first = await tree.ask('Hi')
    const reasons = Object.fromEntries(first.interrupts.map(({ reason, id }) => [reason, id]))
    expect(Object.keys(reasons).toSorted()).toEqual(['input', 'tool-result'])
    await tree.move()
    const second = await tree.answer({ [reasons['tool-result'] ?? '']: 'At last.' })
    expect(second.interrupts).toMatchObject([{ reason: 'input' }])
    await tree.move()
    const third = await tree.answerAll('yes')
    expect(third.interrupts).toMatchObject([{ reason: 'tool-result', metadata: { tool: 'slower' } }])
    await tree.move()
    expect((await tree.answerAll('Even later.')).text).toBe('Heard.')
    expect([brief(Back.requests[2]?.messages).slice(3), wrong()]).toEqual([
      [
        'assistant slow({}) asks({})',
        'tool slow: At last.',
        'tool asks: heard yes',
        'assistant slower({})',
        'tool slower: Even later.',
      ],
      [],
    ])
  })

  test('beside a transfer of the lead: kept until the team is done', async () => {
    const both = scriptedTree(
      { Lead: [calling(team, transferTo('Other'))], Other: ['Other.'] },
      ({ Lead, Other }) => setSubAgents(Lead, [Other]),
      {
        with: { Lead: { tools: [innerOf(['asks'])] } },
      },
    )
    expect((await both.ask('Hi')).outcome).toBe('interrupted')
    await both.move()
    const { text, turns } = await both.answerAll('yes')
    expect([text, turns]).toEqual(['Other.', ['Lead', 'Lead/Other']])
    expect(both.models.Lead.requests).toHaveLength(1)
  })

  test('two teams at once that ask, in branches of a workflow in a tool', async () => {
    const model = (name: string) => scriptedModel([calling('asks'), `${name} done.`], { name })
    const agent = (name: string) => chatModelAgent({ name, model: model(name), tools })
    const both = agentTool(parallel({ name: 'Front', agents: [agent('A'), agent('B')] }))
    const tree = scriptedTree({ Lead: [calling(team), 'Heard.'] }, ({ Lead }) => Lead, {
      with: { Lead: { tools: [both] } },
    })
    const first = await tree.ask('Hi')
    const ids = first.interrupts.map(({ id }) => id)
    expect([first.interrupts.map(({ agentName }) => agentName), new Set(ids).size]).toEqual([['A', 'B'], 2])
    await tree.move()
    expect((await tree.answer({ [ids[1] ?? '']: 'b' })).interrupts.map(({ id }) => id)).toEqual([ids[0]])
    await tree.move()
    expect((await tree.answer({ [ids[0] ?? '']: 'a' })).text).toBe('Heard.')
  })

  test('two branches in a tool that wait for results: both come out, and each result goes to its own', async () => {
    const models = { A: scriptedModel([calling('slow'), 'A done.']), B: scriptedModel([calling('slower'), 'B done.']) }
    const agent = (name: 'A' | 'B') => chatModelAgent({ name, model: models[name], tools })
    const both = agentTool(parallel({ name: 'Front', agents: [agent('A'), agent('B')] }))
    const tree = scriptedTree({ Lead: [calling(team), 'Heard.'] }, ({ Lead }) => Lead, {
      with: { Lead: { tools: [both] } },
    })
    const first = await tree.ask('Hi')
    expect(first.interrupts.map(({ metadata }) => metadata?.tool)).toEqual(['slow', 'slower'])
    const [ofA = '', ofB = ''] = first.interrupts.map(({ id }) => id)
    await tree.move()
    expect((await tree.answer({ [ofA]: 'for A' })).interrupts.map(({ id }) => id)).toEqual([ofB])
    await tree.move()
    expect((await tree.answer({ [ofB]: 'for B' })).text).toBe('Heard.')
    expect(brief(models.A.requests[1]?.messages).at(-1)).toBe('tool slow: for A')
    expect(brief(models.B.requests[1]?.messages).at(-1)).toBe('tool slower: for B')
  })

  test('the same team asked twice in one turn: each has its own questions', async () => {
    const model = scriptedModel([calling('asks'), calling('asks'), 'One.', 'Two.'])
    const inner = agentTool(chatModelAgent({ name: 'Front', model, tools }))
    const tree = scriptedTree({ Lead: [calling(team, { ...team, id: 'team2' }), 'Heard.'] }, ({ Lead }) => Lead, {
      with: { Lead: { tools: [inner] } },
    })
    const first = await tree.ask('Hi')
    expect(first.interrupts.map(({ callId }) => callId)).toEqual(['team', 'team2'])
    await tree.move()
    expect((await tree.answerAll('yes')).text).toBe('Heard.')
  })
})

const innerOf = (calls: readonly string[]) =>
  agentTool(chatModelAgent({ name: 'Front', model: scriptedModel([calling(...calls), 'Done.']), tools }))

describe('what a caller adds', () => {
  const client = tool('client', { longRunning: true })
  const additions = { instruction: 'Use the client.', tools: [{ tool: client, returnDirectly: false }] }

  test('tools travel with a transfer, the instruction stays; a result from the client goes to who asked', async () => {
    const session = { session: { app: 'test', user: 'ann', threadId: 't' } }
    const tree = scriptedTree({ Router: [toAgent('A')], A: [calling('client'), 'Seen.'] }, ({ Router, A }) =>
      setSubAgents(Router, [A]),
    )
    const ask = { messages: [{ id: 'u', role: 'user', content: 'Hi' } as const], additions }
    expect((await tree.read(tree.runner.run(ask, session))).open).toEqual(['client'])
    expect(tree.models.Router.requests[0]?.instruction).toContain('Use the client.')
    expect(tree.models.A.requests[0]?.instruction).not.toContain('Use the client.')
    expect(tree.models.A.requests[0]?.tools.map(({ name }) => name)).toEqual(['transfer_to_agent', 'client'])
    await tree.move()
    const result = { id: 'r', role: 'tool', callId: 'client', name: 'client', content: 'Clicked.' } as const
    const { text, turns } = await tree.read(tree.runner.run({ messages: [result], additions }, session))
    expect([text, turns]).toEqual(['Seen.', ['Router/A']])
  })

  test('state that one agent writes is there for the next, in the next run and elsewhere', async () => {
    const write = tool('write', { invoke: (_, ctx) => void ctx.state.set('city', 'Beijing') })
    const read = tool('read', { invoke: (_, ctx) => `${ctx.state.get('city')}` })
    const tree = scriptedTree(
      { Router: [calling('write'), toAgent('A'), toAgent('A')], A: [calling('read'), 'One.', calling('read'), 'Two.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { tools: [write] }, A: { tools: [read] } } },
    )
    await tree.ask('Hi')
    expect(brief(tree.models.A.requests[1]?.messages).at(-1)).toBe('tool read: Beijing')
    await tree.move()
    await tree.ask('And?')
    expect(brief(tree.models.A.requests[3]?.messages).at(-1)).toBe('tool read: Beijing')
  })
})
