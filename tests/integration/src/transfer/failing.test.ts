import { loop, parallel, sequential, setSubAgents, supervisor } from '@troupe/flow'
import type { Agent, AgentHandler } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { unanswered } from './history-faults.fixture.ts'
import { LAYOUTS, workerIn } from './layouts.fixture.ts'
import {
  ANN,
  brief,
  calling,
  resultOf,
  type ScriptedTree,
  scriptedTree,
  settled,
  toAgent,
  transferTo,
} from './scripted-tree.fixture.ts'
import { asks, guarded, plain, slow, tool } from './tools.fixture.ts'

const throws = tool('throws', { onError: 'throw', invoke: () => Promise.reject(new Error('thrown')) })

describe.each(Object.keys(LAYOUTS).filter((layout) => layout !== 'a tool'))('a tool that throws in %s', (layout) => {
  test('ends the run once, with every call answered', async () => {
    const { tree } = workerIn(layout, [calling('plain', 'throws'), 'Next.'], { tools: [throws, plain([])] })
    const { outcome, errors } = await tree.ask('Go')
    expect([outcome, errors.map(({ message }) => message)]).toEqual(['failed', ['tool throws failed, thrown']])
    expect(unanswered(await tree.history())).toEqual([])
    await tree.move()
    expect((await tree.ask('And?')).outcome).toBe('complete')
  })

  test('beside a question: nothing is asked, and nothing stays open', async () => {
    const { tree } = workerIn(layout, [calling('asks', 'throws', 'slow'), 'Next.'], { tools: [throws, asks(), slow()] })
    const { outcome, interrupts } = await tree.ask('Go')
    expect([outcome, interrupts]).toEqual(['failed', []])
    const { openCalls, checkpoint } = (await tree.thread()) ?? {}
    expect([openCalls, checkpoint, unanswered(await tree.history())]).toEqual([[], undefined, []])
  })

  test('after an answer: the run fails, and the question is not open any more', async () => {
    const log: string[] = []
    const { tree } = workerIn(layout, [calling('guarded'), calling('throws'), 'Next.'], {
      tools: [throws, guarded(log)],
    })
    await tree.ask('Go')
    await tree.move()
    expect((await tree.answerAll({ approved: true })).outcome).toBe('failed')
    expect([log, (await tree.thread())?.checkpoint]).toEqual([['guarded {}'], undefined])
    expect((await tree.ask('And?')).outcome).toBe('complete')
  })
})

describe('a branch whose failure is tolerated', () => {
  const makeTree = (name: 'slow' | 'asks') =>
    scriptedTree(
      { A: [calling('throws', name), 'A next.'], B: ['B.', 'B next.'] },
      ({ A, B }) => parallel({ name: 'Both', agents: [A, B], onError: 'continue' }),
      { with: { A: { tools: [throws, slow(), asks()] } } },
    )

  test.each(['slow', 'asks'] as const)(
    'leaves no call open in the thread, and the next message works (%s)',
    async (name) => {
      const tree = makeTree(name)
      const { outcome } = await tree.ask('Go')
      expect([outcome, (await tree.thread())?.openCalls]).toEqual(['complete', []])
      expect(unanswered(await tree.history())).toEqual([])
      expect((await tree.ask('And?')).outcome).toBe('complete')
    },
  )

  test.each(['slow', 'asks'] as const)('leaves no call open in the result (%s)', async (name) => {
    const tree = makeTree(name)
    const { open } = await tree.ask('Go')
    expect(open).toEqual([])
  })
})

describe('a cancel after the error was reported', () => {
  const runWith = (build: (agents: Readonly<Record<'A' | 'Router', Agent>>) => Agent) => {
    const tree: ScriptedTree<'A' | 'Router'> = scriptedTree({ A: [calling('throws')], Router: [toAgent('A')] }, build, {
      with: { A: { tools: [throws] } },
      onEvent: ({ type }) => void (type === 'error' && tree.runner.cancel(ANN)),
    })
    return tree.ask('Go')
  }

  test('does not make a failed run a cancelled one', async () => {
    expect((await runWith(({ A }) => A)).outcome).toBe('failed')
    expect((await runWith(({ Router, A }) => setSubAgents(Router, [A]))).outcome).toBe('failed')
  })

  test('nor in a workflow', async () => {
    expect((await runWith(({ A }) => sequential({ name: 'Steps', agents: [A] }))).outcome).toBe('failed')
  })
})

describe('what has changed meanwhile', () => {
  test('a tool that is gone when its call is approved: the model gets an error', async () => {
    const tools = [guarded([])]
    const tree = scriptedTree(
      { Router: [toAgent('A')], A: [calling('guarded'), 'Well.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      {
        with: {
          A: {
            handlers: [
              {
                name: 'lends',
                beforeAgent: (_, config) =>
                  void config.tools.push(...tools.map((tool) => ({ tool, returnDirectly: false }))),
              },
            ],
          },
        },
      },
    )
    await tree.ask('Go')
    tools.length = 0
    await tree.move()
    expect((await tree.answerAll({ approved: true })).text).toBe('Well.')
    expect(brief(tree.models.A.requests[1]?.messages).at(-1)).toMatch(/no such tool/)
  })

  test('an agent that is gone: nothing changes, and the user can drop it', async () => {
    let gone = false
    const tree = scriptedTree(
      { Router: [toAgent('A'), 'Well.'], A: [calling('asks')], B: [] },
      ({ Router, A, B }) => setSubAgents(Router, [gone ? B : A]),
      { with: { A: { tools: [asks()] } }, runner: { pending: 'drop' } },
    )
    const [id = ''] = (await tree.ask('Go')).interrupts.map((interrupt) => interrupt.id)
    gone = true
    await tree.move()
    expect(await settled(tree.runner.resume({ [id]: 'yes' }, { session: ANN }))).toBe('CHECKPOINT_INVALID')
    expect((await tree.ask('And?')).text).toBe('Well.')
  })

  test('answers and results that come twice, late or for unknown calls are refused and change nothing', async () => {
    const { tree } = workerIn('a transfer target', [calling('asks', 'slow'), 'Worked.'], { tools: [asks(), slow()] })
    const [id = ''] = (await tree.ask('Go')).interrupts.map((interrupt) => interrupt.id)
    const session = { session: ANN }
    const give = (callId: string) => settled(tree.runner.run({ messages: [resultOf(callId)] }, session))
    expect(await settled(tree.runner.resume({ nonsense: 1 }, session))).toBe('INTERRUPT_UNKNOWN')
    expect(await give('nonsense')).toBe('TOOL_CALL_UNKNOWN')
    await tree.results({ slow: 'At last.' })
    expect(await give('slow')).toBe('TOOL_CALL_UNKNOWN')
    expect((await tree.answer({ [id]: 'yes' })).text).toBe('Worked.')
    expect(await settled(tree.runner.resume({ [id]: 'yes' }, session))).toBe('INTERRUPT_UNKNOWN')
    expect(brief(tree.models.Worker.requests[1]?.messages).slice(-2)).toEqual([
      'tool asks: heard yes',
      'tool slow: At last.',
    ])
  })
})

describe('agents that say nothing', () => {
  test('a child without a message ends the run; in a supervisor it returns', async () => {
    const scripts = () => ({ Lead: [toAgent('A'), 'Well.'], A: [''] })
    const plainly = scriptedTree(scripts(), ({ Lead, A }) => setSubAgents(Lead, [A]))
    expect((await plainly.ask('Go')).outcome).toBe('complete')
    const led = scriptedTree(scripts(), ({ Lead, A }) => supervisor({ supervisor: Lead, agents: [A] }))
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
    const tree = scriptedTree(
      { Router: ['I can do that.'], A: ['No, I can.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      {
        with: { Router: { handlers: [redirect] } },
      },
    )
    const { text, started } = await tree.ask('Go')
    expect([text, started]).toEqual(['No, I can.', ['transfer_to_agent']])
  })

  test('a transfer of an agent inside a workflow to the tree around it is refused', async () => {
    const tree = scriptedTree(
      { Router: [toAgent('Steps')], A: [calling(transferTo('Router'))], B: [] },
      ({ Router, A, B }) =>
        setSubAgents(Router, [
          sequential({ name: 'Steps', agents: [loop({ name: 'Rounds', agents: [setSubAgents(A, [B])] })] }),
        ]),
    )
    expect((await tree.ask('Go')).errors[0]?.code).toBe('TRANSFER_TARGET_UNKNOWN')
  })
})
