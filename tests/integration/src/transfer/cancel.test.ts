import { parallel, sequential, setSubAgents } from '@troupe/flow'
import type { CancelMode, Tool } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { unanswered, unpaired } from './history-faults.fixture.ts'
import { LAYOUTS, workerIn } from './layouts.fixture.ts'
import { ANN, brief, calling, type ScriptedTree, scriptedTree, toAgent, transferTo } from './scripted-tree.fixture.ts'
import { asks, plain, slow, tool } from './tools.fixture.ts'

const MODES: readonly CancelMode[] = ['after-model', 'after-tools', 'now']

/** A tool that cancels its run. */
const cancelling = (tree: () => ScriptedTree<string>, mode: CancelMode): Tool =>
  tool('cancelling', {
    async invoke(_, ctx) {
      await tree().runner.cancel(ANN, { mode })
      ctx.throwIfAborted()
      return 'cancelled'
    },
  })

const sound = async (tree: ScriptedTree<string>) => {
  const { openCalls, checkpoint } = (await tree.thread()) ?? {}
  expect([openCalls, checkpoint, unanswered(await tree.history())]).toEqual([[], undefined, []])
}

describe('while the router transfers', () => {
  const makeTree = (mode: CancelMode) => {
    const tree: ScriptedTree<'Router' | 'A'> = scriptedTree(
      {
        Router: [
          () => {
            void tree.runner.cancel(ANN, { mode })
            return calling('plain', transferTo('A'))
          },
          'Router again.',
        ],
        A: [],
      },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { tools: [plain([])] } } },
    )
    return tree
  }

  test.each(MODES)('%s: no other agent runs, and the next message works', async (mode) => {
    const tree = makeTree(mode)
    const first = await tree.ask('Hi')
    expect([first.outcome, first.turns, tree.models.A.requests]).toEqual(['cancelled', ['Router'], []])
    await sound(tree)
    await tree.move()
    expect((await tree.ask('And?')).text).toBe('Router again.')
  })

  test('after-model: the calls are answered and not run', async () => {
    const tree = makeTree('after-model')
    const { started, toolEnds } = await tree.ask('Hi')
    expect([started, toolEnds.map(({ status }) => status)]).toEqual([[], ['failed', 'failed']])
    await tree.ask('And?')
    expect(brief(tree.models.Router.requests[1]?.messages)).toEqual([
      'user Hi',
      'assistant plain({}) transfer_to_agent({"agent_name":"A"})',
      'tool plain: The call was cancelled before it started.',
      'tool transfer_to_agent: The call was cancelled before it started.',
      'user And?',
    ])
  })

  test('after-tools: the tools run, the transfer does not', async () => {
    const tree = makeTree('after-tools')
    const { started, actions } = await tree.ask('Hi')
    expect([started, actions]).toEqual([
      ['plain', 'transfer_to_agent'],
      [{ type: 'transfer-to-agent', agentName: 'A' }],
    ])
  })
})

describe.each(Object.keys(LAYOUTS))('in a tool call in %s', (layout) => {
  test.each(MODES)('%s: the run ends once, the thread is sound, the next message works', async (mode) => {
    const calls = calling('cancelling', 'plain')
    const { tree }: ReturnType<typeof workerIn> = workerIn(layout, [calls, 'Next.', 'Next.'], {
      tools: [cancelling(() => tree, mode), plain([])],
    })
    const first = await tree.ask('Go')
    expect([first.outcome, tree.models.Worker.requests.length]).toEqual(['cancelled', 1])
    await sound(tree)
    await tree.move()
    expect((await tree.ask('And?')).outcome).toBe('complete')
    await sound(tree)
    for (const model of Object.values(tree.models)) {
      for (const { messages } of model.requests) expect(unpaired(messages)).toEqual([])
    }
  })
})

test.each(MODES)(
  '%s while one branch works and another has asked: the question is not asked any more',
  async (mode) => {
    const tree: ScriptedTree<'A' | 'B'> = scriptedTree(
      { A: [calling('asks'), 'A next.'], B: [calling('cancelling', 'slow'), 'B next.'] },
      ({ A, B }) => parallel({ name: 'Both', agents: [A, B] }),
      { with: { A: { tools: [asks()] }, B: { tools: [cancelling(() => tree, mode), slow()] } } },
    )
    const first = await tree.ask('Go')
    // A question from before a soft cancel may still be open; it can be answered or dropped.
    if (first.outcome === 'interrupted') {
      await tree.move()
      expect((await tree.answerAll('yes')).outcome).toBe('complete')
      return
    }
    expect(first.outcome).toBe('cancelled')
    await sound(tree)
    await tree.move()
    expect((await tree.ask('And?')).outcome).toBe('complete')
  },
)

describe.each(['workflow', 'tree'] as const)(
  'in a branch that is a %s, a run that is resumed and cancelled',
  (kind) => {
    const cancelledTree = async () => {
      const cancel = { on: false }
      const tree: ScriptedTree<'A' | 'B'> = scriptedTree(
        { A: kind === 'tree' ? [toAgent('B'), toAgent('B')] : ['A.', 'A next.'], B: [calling('asks'), 'B next.'] },
        ({ A, B }) => {
          const branch = kind === 'tree' ? setSubAgents(A, [B]) : sequential({ name: 'Steps', agents: [A, B] })
          return parallel({ name: 'Both', agents: [branch] })
        },
        {
          with: { B: { tools: [asks()] } },
          onEvent: () => void (cancel.on && tree.runner.cancel(ANN, { mode: 'after-tools' })),
        },
      )
      await tree.ask('Go')
      cancel.on = true
      expect((await tree.answerAll('yes')).outcome).toBe('cancelled')
      cancel.on = false
      return tree
    }

    test('says of the agent that made the call that its outcome is not known', async () => {
      const history = await (await cancelledTree()).history()
      expect(history.at(-1)).toMatchObject({ role: 'tool', callId: 'asks', agentName: 'B' })
    })

    test('leaves a sound thread', async () => sound(await cancelledTree()))

    test('leaves a history that the agent with the open call can use', async () => {
      const tree = await cancelledTree()
      expect((await tree.ask('And?')).outcome).toBe('complete')
      expect(unpaired(tree.models.B.requests[1]?.messages ?? [])).toEqual([])
    })
  },
)

test('a consumer that leaves in the middle of a transfer: the thread is sound and the next message works', async () => {
  for (const type of ['tool-end', 'action', 'agent-end', 'agent-start', 'message-start', 'text-delta']) {
    const tree = scriptedTree({ Router: [toAgent('A'), 'Router again.'], A: ['I am A.'] }, ({ Router, A }) =>
      setSubAgents(Router, [A]),
    )
    let agents = 0
    for await (const event of tree.runner.query('Hi', { session: ANN })) {
      if (event.type === 'agent-start') agents++
      if (event.type === type && (agents === 2 || ['tool-end', 'action', 'agent-end'].includes(type))) break
    }
    await sound(tree)
    const { outcome } = await tree.ask('And?')
    expect([type, outcome]).toEqual([type, 'complete'])
  }
})
