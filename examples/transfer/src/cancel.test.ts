import { parallel, sequential, setSubAgents } from '@troupe/flow'
import type { CancelMode, Tool } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { at, PLACES } from './places.fixture.ts'
import { unanswered, unpaired } from './soundness.fixture.ts'
import { ANN, brief, calling, type Theatre, theatre, toAgent, transferTo } from './theatre.fixture.ts'
import { asks, plain, slow, tool } from './tools.fixture.ts'

const MODES: readonly CancelMode[] = ['after-model', 'after-tools', 'now']

/** A tool in which the run is cancelled. */
const cancelling = (stage: () => Theatre<string>, mode: CancelMode): Tool =>
  tool('cancelling', {
    async invoke(_, ctx) {
      await stage().runner.cancel(ANN, { mode })
      ctx.throwIfAborted()
      return 'cancelled'
    },
  })

const sound = async (stage: Theatre<string>) => {
  const { openCalls, checkpoint } = (await stage.thread()) ?? {}
  expect([openCalls, checkpoint, unanswered(await stage.history())]).toEqual([[], undefined, []])
}

describe('while the router hands over', () => {
  const play = (mode: CancelMode) => {
    const stage: Theatre<'Router' | 'A'> = theatre(
      {
        Router: [
          () => {
            void stage.runner.cancel(ANN, { mode })
            return calling('plain', transferTo('A'))
          },
          'Router again.',
        ],
        A: [],
      },
      ({ Router, A }) => setSubAgents(Router, [A]),
      { with: { Router: { tools: [plain([])] } } },
    )
    return stage
  }

  test.each(MODES)('%s: nobody else is asked, and the next message works', async (mode) => {
    const stage = play(mode)
    const first = await stage.ask('Hi')
    expect([first.outcome, first.turns, stage.models.A.requests]).toEqual(['cancelled', ['Router'], []])
    await sound(stage)
    await stage.move()
    expect((await stage.ask('And?')).text).toBe('Router again.')
  })

  test('after-model: the calls are answered and not run', async () => {
    const stage = play('after-model')
    const { started, toolEnds } = await stage.ask('Hi')
    expect([started, toolEnds.map(({ status }) => status)]).toEqual([[], ['failed', 'failed']])
    await stage.ask('And?')
    expect(brief(stage.models.Router.requests[1]?.messages)).toEqual([
      'user Hi',
      'assistant plain({}) transfer_to_agent({"agent_name":"A"})',
      'tool plain: The call was cancelled before it started.',
      'tool transfer_to_agent: The call was cancelled before it started.',
      'user And?',
    ])
  })

  test('after-tools: the tools run, the transfer does not', async () => {
    const stage = play('after-tools')
    const { started, actions } = await stage.ask('Hi')
    expect([started, actions]).toEqual([
      ['plain', 'transfer_to_agent'],
      [{ type: 'transfer-to-agent', agentName: 'A' }],
    ])
  })
})

describe.each(Object.keys(PLACES))('in a tool call in %s', (place) => {
  test.each(MODES)('%s: the run ends once, the thread is sound, the next message works', async (mode) => {
    const calls = calling('cancelling', 'plain')
    const { stage }: ReturnType<typeof at> = at(place, [calls, 'Next.', 'Next.'], {
      tools: [cancelling(() => stage, mode), plain([])],
    })
    const first = await stage.ask('Go')
    expect([first.outcome, stage.models.Worker.requests.length]).toEqual(['cancelled', 1])
    await sound(stage)
    await stage.move()
    expect((await stage.ask('And?')).outcome).toBe('complete')
    await sound(stage)
    for (const model of Object.values(stage.models)) {
      for (const { messages } of model.requests) expect(unpaired(messages)).toEqual([])
    }
  })
})

test.each(MODES)(
  '%s while one branch works and another has asked: the question is not asked any more',
  async (mode) => {
    const stage: Theatre<'A' | 'B'> = theatre(
      { A: [calling('asks'), 'A next.'], B: [calling('cancelling', 'slow'), 'B next.'] },
      ({ A, B }) => parallel({ name: 'Both', agents: [A, B] }),
      { with: { A: { tools: [asks()] }, B: { tools: [cancelling(() => stage, mode), slow()] } } },
    )
    const first = await stage.ask('Go')
    // What was asked before a soft cancel may still be open: then it can be answered or dropped.
    if (first.outcome === 'interrupted') {
      await stage.move()
      expect((await stage.answerAll('yes')).outcome).toBe('complete')
      return
    }
    expect(first.outcome).toBe('cancelled')
    await sound(stage)
    await stage.move()
    expect((await stage.ask('And?')).outcome).toBe('complete')
  },
)

describe.each(['workflow', 'tree'] as const)(
  'in a branch that is a %s, a run that is resumed and cancelled',
  (kind) => {
    const play = async () => {
      const cancel = { on: false }
      const stage: Theatre<'A' | 'B'> = theatre(
        { A: kind === 'tree' ? [toAgent('B'), toAgent('B')] : ['A.', 'A next.'], B: [calling('asks'), 'B next.'] },
        ({ A, B }) => {
          const branch = kind === 'tree' ? setSubAgents(A, [B]) : sequential({ name: 'Steps', agents: [A, B] })
          return parallel({ name: 'Both', agents: [branch] })
        },
        {
          with: { B: { tools: [asks()] } },
          onEvent: () => void (cancel.on && stage.runner.cancel(ANN, { mode: 'after-tools' })),
        },
      )
      await stage.ask('Go')
      cancel.on = true
      expect((await stage.answerAll('yes')).outcome).toBe('cancelled')
      cancel.on = false
      return stage
    }

    test('says of the agent that made the call that its outcome is not known', async () => {
      const history = await (await play()).history()
      expect(history.at(-1)).toMatchObject({ role: 'tool', callId: 'asks', agentName: 'B' })
    })

    test('leaves a sound thread', async () => sound(await play()))

    test('leaves a history that the agent with the open call can use', async () => {
      const stage = await play()
      expect((await stage.ask('And?')).outcome).toBe('complete')
      expect(unpaired(stage.models.B.requests[1]?.messages ?? [])).toEqual([])
    })
  },
)

test('a consumer that leaves in the middle of a transfer: the thread is sound and the next message works', async () => {
  for (const type of ['tool-end', 'action', 'agent-end', 'agent-start', 'message-start', 'text-delta']) {
    const stage = theatre({ Router: [toAgent('A'), 'Router again.'], A: ['I am A.'] }, ({ Router, A }) =>
      setSubAgents(Router, [A]),
    )
    let agents = 0
    for await (const event of stage.runner.query('Hi', { session: ANN })) {
      if (event.type === 'agent-start') agents++
      if (event.type === type && (agents === 2 || ['tool-end', 'action', 'agent-end'].includes(type))) break
    }
    await sound(stage)
    const { outcome } = await stage.ask('And?')
    expect([type, outcome]).toEqual([type, 'complete'])
  }
})
