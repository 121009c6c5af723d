import { loop, parallel, sequential, setSubAgents, supervisor } from '@troupe/flow'
import type { Agent, AgentHandler } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { at, PLACES } from './places.fixture.ts'
import { unanswered } from './soundness.fixture.ts'
import {
  ANN,
  brief,
  calling,
  resultOf,
  settled,
  type Theatre,
  theatre,
  toAgent,
  transferTo,
} from './theatre.fixture.ts'
import { asks, guarded, plain, slow, tool } from './tools.fixture.ts'

const throws = tool('throws', { onError: 'throw', invoke: () => Promise.reject(new Error('thrown')) })

describe.each(Object.keys(PLACES).filter((place) => place !== 'a tool'))('a tool that throws in %s', (place) => {
  test('ends the run once, with every call answered', async () => {
    const { stage } = at(place, [calling('plain', 'throws'), 'Next.'], { tools: [throws, plain([])] })
    const { outcome, errors } = await stage.ask('Go')
    expect([outcome, errors.map(({ message }) => message)]).toEqual(['failed', ['thrown']])
    expect(unanswered(await stage.history())).toEqual([])
    await stage.move()
    expect((await stage.ask('And?')).outcome).toBe('complete')
  })

  test('beside a question: nothing is asked, and nothing stays open', async () => {
    const { stage } = at(place, [calling('asks', 'throws', 'slow'), 'Next.'], { tools: [throws, asks(), slow()] })
    const { outcome, interrupts } = await stage.ask('Go')
    expect([outcome, interrupts]).toEqual(['failed', []])
    const { openCalls, checkpoint } = (await stage.thread()) ?? {}
    expect([openCalls, checkpoint, unanswered(await stage.history())]).toEqual([[], undefined, []])
  })

  test('after an answer: the run fails, and the question is not open any more', async () => {
    const log: string[] = []
    const { stage } = at(place, [calling('guarded'), calling('throws'), 'Next.'], { tools: [throws, guarded(log)] })
    await stage.ask('Go')
    await stage.move()
    expect((await stage.answerAll({ approved: true })).outcome).toBe('failed')
    expect([log, (await stage.thread())?.checkpoint]).toEqual([['guarded {}'], undefined])
    expect((await stage.ask('And?')).outcome).toBe('complete')
  })
})

describe('a branch whose failure is tolerated', () => {
  const play = (name: 'slow' | 'asks') =>
    theatre(
      { A: [calling('throws', name), 'A next.'], B: ['B.', 'B next.'] },
      ({ A, B }) => parallel({ name: 'Both', agents: [A, B], onError: 'continue' }),
      { with: { A: { tools: [throws, slow(), asks()] } } },
    )

  test.each(['slow', 'asks'] as const)(
    'leaves no call open in the thread, and the next message works (%s)',
    async (name) => {
      const stage = play(name)
      const { outcome } = await stage.ask('Go')
      expect([outcome, (await stage.thread())?.openCalls]).toEqual(['complete', []])
      expect(unanswered(await stage.history())).toEqual([])
      expect((await stage.ask('And?')).outcome).toBe('complete')
    },
  )

  test.each(['slow', 'asks'] as const)('leaves no call open in the result (%s)', async (name) => {
    const stage = play(name)
    const { open } = await stage.ask('Go')
    expect(open).toEqual([])
  })
})

describe('a cancel after the error was told', () => {
  const play = (build: (agents: Readonly<Record<'A' | 'Router', Agent>>) => Agent) => {
    const stage: Theatre<'A' | 'Router'> = theatre({ A: [calling('throws')], Router: [toAgent('A')] }, build, {
      with: { A: { tools: [throws] } },
      onEvent: ({ type }) => void (type === 'error' && stage.runner.cancel(ANN)),
    })
    return stage.ask('Go')
  }

  test('does not make a failed run a cancelled one', async () => {
    expect((await play(({ A }) => A)).outcome).toBe('failed')
    expect((await play(({ Router, A }) => setSubAgents(Router, [A]))).outcome).toBe('failed')
  })

  test('nor in a workflow', async () => {
    expect((await play(({ A }) => sequential({ name: 'Steps', agents: [A] }))).outcome).toBe('failed')
  })
})

describe('what has changed meanwhile', () => {
  test('a tool that is gone when its call is approved: the model is told so', async () => {
    const tools = [guarded([])]
    const stage = theatre(
      { Router: [toAgent('A')], A: [calling('guarded'), 'Well.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      {
        with: {
          A: {
            handlers: [
              {
                name: 'lends',
                beforeAgent: (_, config) =>
                  void config.tools.push(...tools.map((lent) => ({ tool: lent, returnDirectly: false }))),
              },
            ],
          },
        },
      },
    )
    await stage.ask('Go')
    tools.length = 0
    await stage.move()
    expect((await stage.answerAll({ approved: true })).text).toBe('Well.')
    expect(brief(stage.models.A.requests[1]?.messages).at(-1)).toMatch(/no such tool/)
  })

  test('an agent that is gone: nothing changes, and the user can drop it', async () => {
    let gone = false
    const stage = theatre(
      { Router: [toAgent('A'), 'Well.'], A: [calling('asks')], B: [] },
      ({ Router, A, B }) => setSubAgents(Router, [gone ? B : A]),
      { with: { A: { tools: [asks()] } }, runner: { pending: 'drop' } },
    )
    const [id = ''] = (await stage.ask('Go')).interrupts.map((interrupt) => interrupt.id)
    gone = true
    await stage.move()
    expect(await settled(stage.runner.resume({ [id]: 'yes' }, { session: ANN }))).toBe('CHECKPOINT_INVALID')
    expect((await stage.ask('And?')).text).toBe('Well.')
  })

  test('answers and results that come twice, late or for nobody are refused and change nothing', async () => {
    const { stage } = at('a transfer target', [calling('asks', 'slow'), 'Worked.'], { tools: [asks(), slow()] })
    const [id = ''] = (await stage.ask('Go')).interrupts.map((interrupt) => interrupt.id)
    const session = { session: ANN }
    const give = (callId: string) => settled(stage.runner.run({ messages: [resultOf(callId)] }, session))
    expect(await settled(stage.runner.resume({ nonsense: 1 }, session))).toBe('INTERRUPT_UNKNOWN')
    expect(await give('nonsense')).toBe('TOOL_CALL_UNKNOWN')
    await stage.results({ slow: 'At last.' })
    expect(await give('slow')).toBe('TOOL_CALL_UNKNOWN')
    expect((await stage.answer({ [id]: 'yes' })).text).toBe('Worked.')
    expect(await settled(stage.runner.resume({ [id]: 'yes' }, session))).toBe('INTERRUPT_UNKNOWN')
    expect(brief(stage.models.Worker.requests[1]?.messages).slice(-2)).toEqual([
      'tool asks: heard yes',
      'tool slow: At last.',
    ])
  })
})

describe('agents that say nothing', () => {
  test('a child without a word ends the run; in a supervisor it gives the word back', async () => {
    const scripts = () => ({ Lead: [toAgent('A'), 'Well.'], A: [''] })
    const plainly = theatre(scripts(), ({ Lead, A }) => setSubAgents(Lead, [A]))
    expect((await plainly.ask('Go')).outcome).toBe('complete')
    const led = theatre(scripts(), ({ Lead, A }) => supervisor({ supervisor: Lead, agents: [A] }))
    expect((await led.ask('Go')).text).toBe('Well.')
  })

  test('a handler that makes a transfer of an answer: it is announced, run and done', async () => {
    const redirect: AgentHandler = {
      name: 'redirect',
      afterModelRewriteHistory: (_, messages) =>
        messages.map((message, i) =>
          i === messages.length - 1 && message.role === 'assistant' && !message.toolCalls
            ? {
                ...message,
                toolCalls: [{ id: 'made', name: 'transfer_to_agent', arguments: '{"agent_name":"A"}' }],
              }
            : message,
        ),
    }
    const stage = theatre(
      { Router: ['I can do that.'], A: ['No, I can.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      {
        with: { Router: { handlers: [redirect] } },
      },
    )
    const { text, started } = await stage.ask('Go')
    expect([text, started]).toEqual(['No, I can.', ['transfer_to_agent']])
  })

  test('a transfer of an agent inside a workflow to the tree around it is refused', async () => {
    const stage = theatre(
      { Router: [toAgent('Steps')], A: [calling(transferTo('Router'))], B: [] },
      ({ Router, A, B }) =>
        setSubAgents(Router, [
          sequential({ name: 'Steps', agents: [loop({ name: 'Rounds', agents: [setSubAgents(A, [B])] })] }),
        ]),
    )
    expect((await stage.ask('Go')).errors[0]?.code).toBe('TRANSFER_TARGET_UNKNOWN')
  })
})
