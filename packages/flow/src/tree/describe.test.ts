import { describe, expect, test } from 'vitest'
import { runToEnd, talker } from '../flow.fixture.ts'
import {
  agentWithOptions,
  describe as describeAgent,
  loop,
  mermaid,
  parallel,
  planExecute,
  sequential,
  setSubAgents,
  supervisor,
} from '../index.ts'

const named = (name: string, kind = 'agent') => ({ name, description: expect.any(String), kind })

describe('describe', () => {
  test('an agent alone, ours or not', () => {
    const alone = { name: 'a', description: 'a runs.', kind: 'agent' }
    expect(describeAgent(talker('a'))).toEqual(alone)
    expect(describeAgent(agentWithOptions(talker('a'), {}))).toEqual(alone)
  })

  test('a tree: children in their order, and whether they can come back', () => {
    const fixed = agentWithOptions(talker('b'), { disallowTransferToParent: true })
    const tree = setSubAgents(talker('lead'), [setSubAgents(talker('a'), [talker('leaf')]), fixed])
    expect(describeAgent(tree)).toEqual({
      ...named('lead'),
      subAgents: [
        { ...named('a'), toParent: 'transfer', subAgents: [{ ...named('leaf'), toParent: 'transfer' }] },
        named('b'),
      ],
    })
  })

  test('a supervisor: its agents come back by themselves', () => {
    expect(describeAgent(supervisor({ supervisor: talker('lead'), agents: [talker('a')] })).subAgents).toEqual([
      { ...named('a'), toParent: 'return' },
    ])
  })

  test('workflows in workflows, in trees, with trees inside', () => {
    const tree = setSubAgents(talker('a'), [talker('leaf')])
    const inner = parallel({ name: 'par', agents: [tree, talker('b')] })
    const rounds = loop({ name: 'rounds', agents: [inner] })
    const steps = sequential({ name: 'steps', description: 'Steps.', agents: [rounds, talker('c')] })
    expect(describeAgent(setSubAgents(talker('top'), [steps]))).toEqual({
      ...named('top'),
      subAgents: [
        {
          ...named('steps', 'sequential'),
          description: 'Steps.',
          agents: [
            {
              ...named('rounds', 'loop'),
              agents: [
                {
                  ...named('par', 'parallel'),
                  agents: [{ ...named('a'), subAgents: [{ ...named('leaf'), toParent: 'transfer' }] }, named('b')],
                },
              ],
            },
            named('c'),
          ],
        },
      ],
    })
  })

  test('a supervised workflow is still one', () => {
    const steps = sequential({ name: 'steps', agents: [talker('a')] })
    const { subAgents } = describeAgent(supervisor({ supervisor: talker('lead'), agents: [steps] }))
    expect(subAgents).toEqual([{ ...named('steps', 'sequential'), toParent: 'return', agents: [named('a')] }])
  })

  test('a plan-execute agent is what it is made of', () => {
    const agents = { planner: talker('p'), executor: talker('e'), replanner: talker('r') }
    expect(describeAgent(planExecute({ name: 'travel', ...agents }))).toEqual({
      ...named('travel', 'sequential'),
      agents: [named('p'), { ...named('travel-steps', 'loop'), agents: [named('e'), named('r')] }],
    })
  })

  test('is JSON, and the same before and after a run', async () => {
    const tree = setSubAgents(talker('lead'), [talker('a')])
    const before = describeAgent(tree)
    expect(JSON.parse(JSON.stringify(before))).toEqual(before)
    await runToEnd(tree)
    expect(describeAgent(tree)).toEqual(before)
  })
})

describe('mermaid', () => {
  test('a tree: arrows down, dotted ones back', () => {
    const fixed = agentWithOptions(talker('c'), { disallowTransferToParent: true })
    expect(mermaid(describeAgent(setSubAgents(talker('lead'), [talker('b'), fixed])))).toBe(
      [
        'flowchart TD',
        '  a0["lead"]',
        '  a1["b"]',
        '  a0 --> a1',
        '  a1 -.->|transfer| a0',
        '  a2["c"]',
        '  a0 --> a2',
      ].join('\n'),
    )
  })

  test('workflows: thick arrows, in a row, side by side, and again', () => {
    const [a, b] = [talker('a'), talker('b')]
    expect(mermaid(describeAgent(sequential({ name: 's', agents: [a, b] })))).toBe(
      ['flowchart TD', '  a0[["sequential: s"]]', '  a1["a"]', '  a0 ==> a1', '  a2["b"]', '  a1 ==> a2'].join('\n'),
    )
    expect(mermaid(describeAgent(parallel({ name: 'p', agents: [a, b] })))).toBe(
      ['flowchart TD', '  a0[["parallel: p"]]', '  a1["a"]', '  a0 ==> a1', '  a2["b"]', '  a0 ==> a2'].join('\n'),
    )
    expect(mermaid(describeAgent(loop({ name: 'l', agents: [a] })))).toBe(
      ['flowchart TD', '  a0[["loop: l"]]', '  a1["a"]', '  a0 ==> a1', '  a1 ==>|again| a0'].join('\n'),
    )
  })

  test('names with odd characters break neither label nor line', () => {
    const diagram = mermaid(describeAgent(talker('a "b" <c> & ]')))
    expect(diagram).toBe('flowchart TD\n  a0["a #quot;b#quot; #lt;c#gt; #amp; ]"]')
  })

  test('nor do names with line breaks', () => {
    expect(mermaid(describeAgent(talker('a\nb"]\n  x --> y'))).split('\n')).toHaveLength(2)
  })
})
