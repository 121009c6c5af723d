import { breakLoopTool, loop, planExecute, setSubAgents, supervisor } from '@troupe/flow'
import { describe, expect, test } from 'vitest'
import { brief, calling, contextOfTransfer, scriptedTree, toAgent, transferTo } from './scripted-tree.fixture.ts'
import { asks, slow, tool } from './tools.fixture.ts'

const direct = { tool: tool('direct'), returnDirectly: true }
const respond = (response: string) => calling({ id: 'respond', name: 'respond', arguments: { response } })

describe('the same agent again in the next round', () => {
  test('is asked again after a direct result', async () => {
    const { ask, models } = scriptedTree(
      { A: [calling('direct'), 'Round two.'] },
      ({ A }) => loop({ name: 'Rounds', agents: [A], maxIterations: 2 }),
      { with: { A: { tools: [direct] } } },
    )
    expect((await ask('Go')).text).toBe('Round two.')
    expect(brief(models.A.requests[1]?.messages)).toEqual([
      'user Go',
      'assistant direct({})',
      'tool direct: direct done',
    ])
  })

  test('is asked again after a direct result that was kept beside a long-running call', async () => {
    const tree = scriptedTree(
      { A: [calling('direct', 'slow'), 'Round two.'] },
      ({ A }) => loop({ name: 'Rounds', agents: [A], maxIterations: 2 }),
      { with: { A: { tools: [direct, slow()] } } },
    )
    await tree.ask('Go')
    await tree.move()
    const { text } = await tree.results({ slow: 'At last.' })
    expect([text, tree.models.A.requests.length]).toEqual(['Round two.', 2])
  })

  test('is asked again after a direct result that was kept beside a question', async () => {
    const tree = scriptedTree(
      { A: [calling('direct', 'asks'), 'Round two.'] },
      ({ A }) => loop({ name: 'Rounds', agents: [A], maxIterations: 2 }),
      { with: { A: { tools: [direct, asks()] } } },
    )
    await tree.ask('Go')
    await tree.move()
    const { text } = await tree.answerAll('yes')
    expect([text, tree.models.A.requests.length]).toEqual(['Round two.', 2])
  })

  test('is asked again in the next round of the outer loop after a break that was kept', async () => {
    const tree = scriptedTree(
      { A: [calling({ id: 'r', name: 'respond', arguments: { response: 'Enough.' } }, 'slow'), 'Outer round two.'] },
      ({ A }) =>
        loop({ name: 'Outer', maxIterations: 2, agents: [loop({ name: 'Inner', agents: [A], maxIterations: 1 })] }),
      { with: { A: { tools: [breakLoopTool(), slow()] } } },
    )
    await tree.ask('Go')
    await tree.move()
    const { text } = await tree.results({ slow: 'At last.' })
    expect([text, tree.models.A.requests.length]).toEqual(['Outer round two.', 2])
  })

  test('a break-loop beside a question is kept, and ends the loop after the answer', async () => {
    const tree = scriptedTree(
      { A: [calling({ id: 'r', name: 'respond', arguments: { response: 'Enough.' } }, 'asks')], B: [] },
      ({ A, B }) => loop({ name: 'Rounds', agents: [A, B] }),
      { with: { A: { tools: [breakLoopTool(), asks()] } } },
    )
    await tree.ask('Go')
    await tree.move()
    const { text, outcome } = await tree.answerAll('yes')
    expect([outcome, text, tree.models.B.requests]).toEqual(['complete', 'Enough.', []])
  })

  test('questions in several rounds: each is asked in its own round and answered there', async () => {
    const tree = scriptedTree(
      { A: [calling('asks'), 'One.', calling('asks'), 'Two.'], B: ['B one.', respond('B two.')] },
      ({ A, B }) => loop({ name: 'Rounds', agents: [A, B] }),
      { with: { A: { tools: [asks()] }, B: { tools: [breakLoopTool()] } } },
    )
    const first = await tree.ask('Go')
    await tree.move()
    const second = await tree.answerAll('one')
    expect(second.outcome).toBe('interrupted')
    expect(second.interrupts[0]?.id).not.toBe(first.interrupts[0]?.id)
    await tree.move()
    const third = await tree.answerAll('two')
    expect([third.text, brief(tree.models.A.requests[3]?.messages).slice(1)]).toEqual([
      'B two.',
      [
        'assistant asks({})',
        'tool asks: heard one',
        'assistant One.',
        'user For context: [B] said: B one..',
        'assistant asks({})',
        'tool asks: heard two',
      ],
    ])
  })

  test('an agent with children in a loop: each round begins with itself', async () => {
    const { ask } = scriptedTree({ A: [toAgent('Child'), toAgent('Child')], Child: ['One.', 'Two.'] }, ({ A, Child }) =>
      loop({ name: 'Rounds', agents: [setSubAgents(A, [Child])], maxIterations: 2 }),
    )
    const { turns, text } = await ask('Go')
    expect(text).toBe('Two.')
    expect(turns).toEqual(['Rounds', 'Rounds/A', 'Rounds/A/Child', 'Rounds/A', 'Rounds/A/Child'])
  })

  test('a child that waited in its round: the next round begins with the agent itself', async () => {
    const tree = scriptedTree(
      { A: [toAgent('Child'), 'A two.'], Child: [calling('slow', transferTo('A')), 'One.'] },
      ({ A, Child }) => loop({ name: 'Rounds', agents: [setSubAgents(A, [Child])], maxIterations: 2 }),
      { with: { Child: { tools: [slow()] } } },
    )
    expect((await tree.ask('Go')).open).toEqual(['slow'])
    await tree.move()
    const { text, turns } = await tree.results({ slow: 'At last.' })
    expect([text, turns]).toEqual(['A two.', ['Rounds', 'Rounds/A/Child', 'Rounds/A']])
  })
})

describe('supervisor', () => {
  test('each worker returns with a transfer of its own, which its model does not know about', async () => {
    const { ask, models } = scriptedTree(
      { Lead: [toAgent('A'), toAgent('B'), 'All done.'], A: ['A did.'], B: [calling('direct')] },
      ({ Lead, A, B }) => supervisor({ supervisor: Lead, agents: [A, B] }),
      { with: { B: { tools: [direct] } } },
    )
    const { text, turns } = await ask('Go')
    expect([text, turns]).toEqual([
      'All done.',
      ['Lead', 'Lead/A', 'Lead/A/Lead', 'Lead/A/Lead/B', 'Lead/A/Lead/B/Lead'],
    ])
    expect(models.A.requests[0]).toMatchObject({ tools: [], instruction: '' })
    expect(brief(models.Lead.requests[2]?.messages).slice(-5)).toEqual([
      'tool transfer_to_agent: successfully transferred to agent [B]',
      'user For context: [B] called tool: `direct` with arguments: {}.',
      'user For context: [B] `direct` tool returned result: direct done.',
      ...contextOfTransfer('B', 'Lead'),
    ])
  })

  test('a worker that runs again sees its own messages untouched, with the return that its model did not make', async () => {
    const { ask, models } = scriptedTree(
      { Lead: [toAgent('A'), toAgent('A'), 'All done.'], A: ['One.', 'Two.'] },
      ({ Lead, A }) => supervisor({ supervisor: Lead, agents: [A] }),
    )
    await ask('Go')
    expect(brief(models.A.requests[1]?.messages)).toEqual([
      'user Go',
      ...contextOfTransfer('Lead', 'A'),
      'assistant One.',
      'assistant transfer_to_agent({"agent_name":"Lead"})',
      'tool transfer_to_agent: successfully transferred to agent [Lead]',
      ...contextOfTransfer('Lead', 'A'),
    ])
  })

  test('a worker with a kept direct result comes back once, and is asked when it comes again', async () => {
    const tree = scriptedTree(
      { Lead: [toAgent('A'), toAgent('A'), 'All done.'], A: [calling('direct', 'slow'), 'Again.'] },
      ({ Lead, A }) => supervisor({ supervisor: Lead, agents: [A] }),
      { with: { A: { tools: [direct, slow()] } } },
    )
    await tree.ask('Go')
    await tree.move()
    const { text } = await tree.results({ slow: 'At last.' })
    expect([text, tree.models.A.requests.length]).toEqual(['All done.', 2])
  })
})

describe('planExecute', () => {
  test('plans, carries out and plans anew until the replanner responds', async () => {
    const { ask, models } = scriptedTree(
      { Plan: ['1. a 2. b'], Do: ['Did a.', 'Did b.'], Replan: ['Left: b', respond('All done.')] },
      ({ Plan, Do, Replan }) => planExecute({ name: 'Travel', planner: Plan, executor: Do, replanner: Replan }),
      { with: { Replan: { tools: [breakLoopTool()] } } },
    )
    const { text, turns, outcome } = await ask('Go')
    expect([outcome, text]).toEqual(['complete', 'All done.'])
    const round = ['Travel/Travel-steps/Do', 'Travel/Travel-steps/Replan']
    expect(turns).toEqual(['Travel', 'Travel/Plan', 'Travel/Travel-steps', ...round, ...round])
    expect(brief(models.Do.requests[1]?.messages)).toEqual([
      'user Go',
      'user For context: [Plan] said: 1. a 2. b.',
      'assistant Did a.',
      'user For context: [Replan] said: Left: b.',
    ])
  })
})
