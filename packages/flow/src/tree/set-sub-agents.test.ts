import type { Agent } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { failing, runToEnd, talker, thrownBy, transferring } from '../flow.fixture.ts'
import { agentWithOptions, describe as describeAgent, sequential, setSubAgents } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

const deaf = (name: string): Agent => {
  const { acceptsAdditions: _, ...agent } = talker(name)
  return agent
}
const childrenOf = (agent: Agent) => describeAgent(agent).subAgents?.map(({ name }) => name)

describe('an agent has one parent and appears once', () => {
  test('a second parent is refused, and nothing has changed', () => {
    const child = agentWithOptions(talker('child'), {})
    const first = setSubAgents(talker('first'), [child])
    const second = talker('second')
    expect(thrownBy(() => setSubAgents(second, [child]))).toMatch(/^CONFIG_INVALID .*child is a sub-agent of first/)
    expect(childrenOf(first)).toEqual(['child'])
  })

  test('the same parent can be given a new list', () => {
    const child = agentWithOptions(talker('child'), {})
    const lead = setSubAgents(talker('lead'), [child])
    expect(childrenOf(setSubAgents(lead, [child, talker('other')]))).toEqual(['child', 'other'])
  })

  test('a child that was taken out may go to another parent', () => {
    const child = agentWithOptions(talker('child'), {})
    const first = setSubAgents(talker('first'), [child])
    setSubAgents(first, [])
    expect(childrenOf(setSubAgents(talker('second'), [child]))).toEqual(['child'])
    expect(childrenOf(first)).toBeUndefined()
  })

  test('it cannot be its own child, whether as it is or wrapped', () => {
    const lead = agentWithOptions(talker('lead'), {})
    expect(thrownBy(() => setSubAgents(lead, [lead]))).toMatch(/^CONFIG_INVALID/)
    expect(thrownBy(() => setSubAgents(talker('lead'), [talker('lead')]))).toMatch(/^CONFIG_INVALID.*unique/)
  })

  test('it cannot be above itself', () => {
    const leaf = agentWithOptions(talker('leaf'), {})
    const mid = setSubAgents(talker('mid'), [leaf])
    const top = setSubAgents(talker('top'), [mid])
    for (const above of [top, mid]) expect(thrownBy(() => setSubAgents(leaf, [above]))).toMatch(/^CONFIG_INVALID/)
    expect(childrenOf(leaf)).toBeUndefined()
  })
})

describe('names are unique in the whole tree', () => {
  test.each<[string, () => unknown]>([
    ['among siblings', () => setSubAgents(talker('a'), [talker('b'), talker('b')])],
    ['between an agent and its parent', () => setSubAgents(talker('a'), [talker('a')])],
    ['at any depth below', () => setSubAgents(talker('a'), [setSubAgents(talker('b'), [talker('a')])])],
    [
      'between branches',
      () =>
        setSubAgents(talker('a'), [setSubAgents(talker('b'), [talker('x')]), setSubAgents(talker('c'), [talker('x')])]),
    ],
    [
      'above a tree that grows below',
      () => {
        const leaf = agentWithOptions(talker('leaf'), {})
        setSubAgents(talker('top'), [setSubAgents(talker('mid'), [leaf])])
        setSubAgents(leaf, [talker('top')])
      },
    ],
  ])('%s', (_, build) => {
    expect(thrownBy(build)).toMatch(/^CONFIG_INVALID setSubAgents: agent names are unique in a tree/)
  })

  test('the name of one that was replaced is free again', () => {
    const lead = setSubAgents(talker('lead'), [setSubAgents(talker('a'), [talker('x')])])
    expect(childrenOf(setSubAgents(lead, [talker('x'), talker('a')]))).toEqual(['x', 'a'])
  })
})

describe('until the first run', () => {
  test('the list may be replaced', async () => {
    const lead = setSubAgents(transferring('lead', 'b'), [talker('a')])
    setSubAgents(lead, [talker('b')])
    expect((await runToEnd(lead)).turns).toEqual(['lead', 'lead/b'])
    expect((await runToEnd(setSubAgents(transferring('lead', 'a'), []))).errors).toMatchObject([
      { code: 'TRANSFER_TARGET_UNKNOWN' },
    ])
  })

  test('then nothing in the tree changes any more', async () => {
    const leaf = agentWithOptions(talker('leaf'), {})
    const mid = setSubAgents(talker('mid'), [leaf])
    const top = setSubAgents(talker('top'), [mid])
    await runToEnd(top)
    for (const node of [top, mid, leaf]) {
      expect(thrownBy(() => setSubAgents(node, [talker('new')]))).toMatch(/^TREE_FROZEN/)
      expect(thrownBy(() => agentWithOptions(node, { skipTransferMessages: true }))).toMatch(/^TREE_FROZEN/)
      expect(thrownBy(() => setSubAgents(talker('outer'), [node]))).toMatch(/^TREE_FROZEN/)
    }
    expect(thrownBy(() => setSubAgents(talker('outer'), [agentWithOptions(talker('free'), {})]))).toBe('nothing')
  })

  test('a run of a part of it freezes the whole tree', async () => {
    const leaf = agentWithOptions(talker('leaf'), {})
    const top = setSubAgents(talker('top'), [leaf])
    await runToEnd(leaf)
    expect(thrownBy(() => setSubAgents(top, []))).toMatch(/^TREE_FROZEN/)
  })

  test('a run that fails freezes it too', async () => {
    const top = setSubAgents(failing('top'), [talker('a')])
    await runToEnd(top)
    expect(thrownBy(() => setSubAgents(top, []))).toMatch(/^TREE_FROZEN/)
  })

  test('the same agents can be used in a new tree', async () => {
    const [lead, child] = [transferring('lead', 'child'), talker('child')]
    await runToEnd(setSubAgents(lead, [child]))
    expect((await runToEnd(setSubAgents(lead, [child]))).turns).toEqual(['lead', 'lead/child'])
  })
})

describe('ADDITIONS_UNSUPPORTED: an agent that takes no additions', () => {
  const errorOf = async (agent: Agent) => (await runToEnd(agent)).errors

  test('and has sub-agents', async () => {
    const message = expect.stringMatching(/^agent lead: takes no additions.*it has sub-agents/)
    expect(await errorOf(setSubAgents(deaf('lead'), [talker('child')]))).toMatchObject([
      { code: 'ADDITIONS_UNSUPPORTED', message, details: { agentName: 'lead' } },
    ])
  })

  test('and has a parent', async () => {
    const message = expect.stringMatching(/^agent child: takes no additions.*it has a parent/)
    expect(await errorOf(setSubAgents(talker('lead'), [deaf('child')]))).toMatchObject([
      { code: 'ADDITIONS_UNSUPPORTED', message },
    ])
  })

  test('is accepted if it may not transfer to its parent', async () => {
    const child = agentWithOptions(deaf('child'), { disallowTransferToParent: true })
    expect((await runToEnd(setSubAgents(transferring('lead', 'child'), [child]))).turns).toEqual(['lead', 'lead/child'])
  })

  test('is fine alone', async () => {
    expect((await runToEnd(setSubAgents(deaf('lead'), []))).end?.outcome).toBe('complete')
  })

  test('does not leave a tree half frozen: it can be mended', async () => {
    const child = agentWithOptions(deaf('child'), {})
    const lead = setSubAgents(transferring('lead', 'child'), [child])
    expect(await errorOf(lead)).toMatchObject([{ code: 'ADDITIONS_UNSUPPORTED' }])
    agentWithOptions(child, { disallowTransferToParent: true })
    expect((await runToEnd(lead)).turns).toEqual(['lead', 'lead/child'])
  })

  test('a workflow as a child needs none, whatever it is made of', async () => {
    const steps = sequential({ name: 'steps', agents: [deaf('one'), deaf('two')] })
    expect((await runToEnd(setSubAgents(transferring('lead', 'steps'), [steps]))).turns).toEqual([
      'lead',
      'lead/steps',
      'lead/steps/one',
      'lead/steps/two',
    ])
  })

  test('a workflow with sub-agents does not have a model that could transfer', async () => {
    const steps = sequential({ name: 'steps', agents: [talker('one')] })
    expect(await errorOf(setSubAgents(steps, [talker('child')]))).toMatchObject([{ code: 'ADDITIONS_UNSUPPORTED' }])
  })
})

describe('a workflow is part of its tree', () => {
  test('an inner agent that cannot transfer is found before any agent runs', async () => {
    const tree = setSubAgents(deaf('lead'), [talker('leaf')])
    const { said, errors } = await runToEnd(sequential({ name: 'steps', agents: [talker('x'), tree] }))
    expect([said, errors[0]?.code]).toEqual([[], 'ADDITIONS_UNSUPPORTED'])
  })

  test('after the first run nothing inside changes any more', async () => {
    const tree = setSubAgents(talker('lead'), [talker('leaf')])
    const steps = sequential({ name: 'steps', agents: [failing('x'), tree] })
    await runToEnd(setSubAgents(transferring('top', 'steps'), [steps]))
    expect(() => setSubAgents(tree, [])).toThrow(expect.objectContaining({ code: 'TREE_FROZEN' }))
  })
})

describe('bad input is CONFIG_INVALID and names what it got', () => {
  const lead = talker('lead')
  test.each<[string, () => unknown]>([
    ['no agent', () => setSubAgents(undefined as never, [])],
    ['an agent without a name', () => setSubAgents({ ...lead, name: '' }, [])],
    ['an agent without run()', () => setSubAgents({ name: 'x', description: '' } as never, [])],
    ['no list', () => setSubAgents(lead, lead as never)],
    ['a child that is invalid', () => setSubAgents(lead, [null as never])],
    ['a rewriter that is not a function', () => agentWithOptions(lead, { historyRewriter: 'x' as never })],
  ])('%s', (_, build) => {
    expect(thrownBy(build)).toMatch(/^CONFIG_INVALID .*got /)
  })

  test('options that are none', () => {
    expect(thrownBy(() => agentWithOptions(lead, undefined as never))).toMatch(/^CONFIG_INVALID .*got /)
  })

  test('a refused list leaves the tree as it was', () => {
    const tree = setSubAgents(talker('lead'), [talker('a')])
    expect(thrownBy(() => setSubAgents(tree, [talker('b'), null as never]))).toMatch(/^CONFIG_INVALID/)
    expect(childrenOf(tree)).toEqual(['a'])
  })
})

describe('agentWithOptions', () => {
  test('adds to the options that were set before', async () => {
    const child = agentWithOptions(scriptedAgent('child', [transfer('lead')]), { disallowTransferToParent: true })
    const lead = setSubAgents(scriptedAgent('lead', [transfer('child'), 'Done.']), [
      agentWithOptions(child, { skipTransferMessages: true }),
    ])
    expect((await runToEnd(lead)).errors).toMatchObject([{ message: expect.stringContaining('child has no tool') }])
  })

  test('gives an agent with the name and the description of the one it is given', () => {
    const { name, description, acceptsAdditions } = agentWithOptions(talker('child'), {})
    expect({ name, description, acceptsAdditions }).toEqual({
      name: 'child',
      description: 'child runs.',
      acceptsAdditions: true,
    })
    expect(agentWithOptions(deaf('child'), {}).acceptsAdditions).toBeUndefined()
  })
})
