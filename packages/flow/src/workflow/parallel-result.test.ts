import { type Agent, type EventDraft, type Json, KernelError, type RunContext, say } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { describe, expect, test } from 'vitest'
import { agentOf, asking, hello, idle, quiet, runToEnd, talker, tool, yielding } from '../flow.fixture.ts'
import { agentTool, loop, parallel, sequential, setSubAgents } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

type Work = (ctx: RunContext) => AsyncIterable<EventDraft>
type Branches = { readonly [name: string]: Work }

/** An agent that begins when the test lets it. */
function held(name: string, gate: Promise<void>, work: Work): Agent {
  return agentOf(name, async function* (ctx) {
    await gate
    yield* work(ctx)
  })
}

/** Runs branches so that they end in this order, inside the agent that `around` makes of them; gives what the run says at its end. */
async function endingIn(order: readonly string[], branches: Branches, around = all) {
  const gates = Object.keys(branches).map((name) => ({ name, ...Promise.withResolvers<void>() }))
  const agents = gates.map(({ name, promise }) => held(name, promise, branches[name] as Work))
  const running = startRun(around(agents), hello, { canInterrupt: true }).then((result) => result)
  for (const next of order) {
    await idle()
    gates.find(({ name }) => name === next)?.resolve()
  }
  const { text, output, messages } = await running
  return { text, output, said: messages.length }
}

/** The results of a parallel workflow whose branches end in the listed order and in the reverse order. */
function inBothOrders(branches: Branches, around = all) {
  const names = Object.keys(branches)
  return Promise.all([endingIn(names, branches, around), endingIn(names.toReversed(), branches, around)])
}

const all = (agents: readonly Agent[]) => parallel({ name: 'all', agents })
const tolerant = (agents: readonly Agent[]) => parallel({ name: 'all', agents, onError: 'continue' })
const saying =
  (text: string): Work =>
  (ctx) =>
    say(ctx, text)

/** Answers with a validated output, as an agent with structured output does. */
const answering = (output: Json): Work =>
  async function* (ctx) {
    const message = { id: ctx.ids.next(), role: 'assistant', content: JSON.stringify(output) } as const
    yield { type: 'message-end', message, output }
  }

const exiting = (result: Json): Work =>
  async function* (ctx) {
    yield* say(ctx, `Leaving: ${result}.`)
    yield { type: 'action', action: { type: 'exit', result } }
  }

describe('the text of a run', () => {
  test('is that of the branch listed last, whichever ends last', async () => {
    for (const { text } of await inBothOrders({ a: saying('A.'), b: saying('B.'), c: saying('C.') })) {
      expect(text).toBe('C.')
    }
  })

  test('is that of the last listed branch that said something', async () => {
    const nothing: Work = async function* () {}
    for (const { text } of await inBothOrders({ a: saying('A.'), b: saying('B.'), c: nothing, d: saying('') })) {
      expect(text).toBe('B.')
    }
  })

  test('is that of a branch that completed, if a branch listed after it has failed', async () => {
    const failing: Work = async function* (ctx) {
      yield* say(ctx, 'Not yet done.')
      throw new KernelError('MINE', 'mine: no')
    }
    for (const { text } of await inBothOrders({ a: saying('A.'), b: failing }, tolerant)) expect(text).toBe('A.')
  })

  test('is that of the failed branch if no other said anything', async () => {
    const failing: Work = async function* (ctx) {
      yield* say(ctx, 'Not yet done.')
      throw new KernelError('MINE', 'mine: no')
    }
    const nothing: Work = async function* () {}
    for (const { text } of await inBothOrders({ a: failing, b: nothing }, tolerant)) expect(text).toBe('Not yet done.')
  })

  test('is not the result of a tool in a branch that failed after it', async () => {
    const broken = scriptedAgent('b', [['look'], new KernelError('MINE', 'mine: no')], tool('look'))
    const speaking = agentOf('a', async function* (ctx) {
      yield* say(ctx, 'A.')
      await idle()
      throw new KernelError('MINE', 'mine: no')
    })
    expect((await runToEnd(tolerant([speaking, broken]))).end).toMatchObject({ outcome: 'failed', text: 'A.' })
  })

  test('is the result that a branch returns directly, if that branch is listed last', async () => {
    const direct = tool('direct', () => ({ content: 'Straight.', direct: true }))
    const caller = scriptedAgent('b', [['direct']], direct)
    const late = agentOf('a', async function* (ctx) {
      await idle()
      yield* say(ctx, 'A.')
    })
    expect((await startRun(all([late, caller]), hello)).text).toBe('Straight.')
    expect((await startRun(all([caller, talker('a')]), hello)).text).toBe('I am a.')
  })

  test('is that of the agent that a branch transferred to', async () => {
    const tree = setSubAgents(scriptedAgent('lead', [transfer('child')]), [talker('child')])
    const late = agentOf('a', async function* (ctx) {
      await idle()
      yield* say(ctx, 'A.')
    })
    expect((await startRun(all([late, tree]), hello)).text).toBe('I am child.')
  })

  test('of workflows inside workflows follows the lists from the outside in', async () => {
    const around = ([a, b, c, d]: readonly Agent[]) =>
      parallel({
        name: 'outer',
        agents: [
          parallel({ name: 'first', agents: [c, d] as readonly Agent[] }),
          parallel({ name: 'second', agents: [a, b] as readonly Agent[] }),
        ],
      })
    const branches = { a: saying('A.'), b: saying('B.'), c: saying('C.'), d: saying('D.') }
    for (const { text } of await inBothOrders(branches, around)) expect(text).toBe('B.')
  })

  test('is that of the step after the workflow', async () => {
    const around = (agents: readonly Agent[]) => sequential({ name: 'steps', agents: [all(agents), talker('after')] })
    for (const { text } of await inBothOrders({ a: saying('A.'), b: saying('B.') }, around)) {
      expect(text).toBe('I am after.')
    }
  })

  test('stays that of the step before the workflow if no branch says anything', async () => {
    const agents = [talker('before'), all([quiet('a', idle), quiet('b', () => undefined)])]
    expect((await startRun(sequential({ name: 'steps', agents }), hello)).text).toBe('I am before.')
  })

  test('in a loop is that of the last iteration, in which another branch may have spoken', async () => {
    let iteration = 0
    const first = agentOf('first', async function* (ctx) {
      if (++iteration === 2) yield* say(ctx, 'Only I.')
    })
    const second = agentOf('second', async function* (ctx) {
      if (iteration === 1) yield* say(ctx, 'Earlier.')
    })
    const agent = loop({ name: 'again', agents: [all([first, second])], maxIterations: 2 })
    expect((await startRun(agent, hello)).text).toBe('Only I.')
  })

  test('is the result of an agent tool around the workflow', async () => {
    const results: string[] = []
    const around = (agents: readonly Agent[]) => {
      const caller = scriptedAgent(
        'caller',
        [[{ name: 'all', args: { request: 'Go.' } }], 'Done.'],
        agentTool(all(agents)),
      )
      return agentOf('watch', async function* (ctx, input) {
        for await (const event of caller.run(input, ctx)) {
          if (event.type === 'tool-end') results.push(`${event.content}`)
          yield event
        }
      })
    }
    await inBothOrders({ a: saying('A.'), b: saying('B.') }, around)
    expect(results).toEqual(['B.', 'B.'])
  })

  test('of a resumed run is that of the branches that went on', async () => {
    const asker = scriptedAgent('a', [['ask'], 'Answered.'], asking())
    const agent = all([asker, talker('b')])
    const first = await runToEnd(agent)
    const [interrupt] = first.end?.interrupts ?? []
    expect([first.end?.outcome, first.end?.text]).toEqual(['interrupted', 'I am b.'])
    const second = await runToEnd(agent, first.resume({ [interrupt?.id ?? '']: 'yes' }))
    expect([second.end?.outcome, second.end?.text]).toEqual(['complete', 'Answered.'])
  })
})

describe('the output of a run', () => {
  test('is that of the last listed branch that said something, as its text', async () => {
    for (const { text, output } of await inBothOrders({ a: answering({ a: 1 }), b: answering({ b: 2 }) })) {
      expect([text, output]).toEqual(['{"b":2}', { b: 2 }])
    }
  })

  test('is absent if the last listed branch that said something has none', async () => {
    for (const { text, output } of await inBothOrders({ a: answering({ a: 1 }), b: saying('B.') })) {
      expect([text, output]).toEqual(['B.', undefined])
    }
  })

  test('after an exit in one branch is the result of the exit, and the text is that of its branch', async () => {
    for (const branches of [
      { a: exiting('bye'), b: saying('B.') },
      { a: saying('A.'), b: exiting('bye') },
      { a: answering({ a: 1 }), b: exiting('bye'), c: answering({ c: 3 }) },
    ]) {
      for (const { text, output } of await inBothOrders(branches)) {
        expect([text, output]).toEqual(['Leaving: bye.', 'bye'])
      }
    }
  })

  test('of two exits is that of the one listed last', async () => {
    for (const { text, output } of await inBothOrders({ a: exiting('one'), b: exiting('two'), c: saying('C.') })) {
      expect([text, output]).toEqual(['Leaving: two.', 'two'])
    }
  })

  test('of an exit stays while the branches beside it still speak and one of them fails', async () => {
    const failing: Work = async function* (ctx) {
      yield* say(ctx, 'Half.')
      throw new KernelError('MINE', 'mine: no')
    }
    for (const { text, output } of await inBothOrders({ a: exiting('bye'), b: failing }, tolerant)) {
      expect([text, output]).toEqual(['Leaving: bye.', 'bye'])
    }
  })

  test('of an exit stays while another branch waits for an answer, in the run that asks and in the resumed one', async () => {
    const asker = scriptedAgent('b', [['ask'], 'Answered.'], asking())
    const exit = yielding('a', { type: 'exit', result: 'bye' })
    for (const agents of [
      [exit, asker],
      [asker, exit],
    ]) {
      const first = await runToEnd(all(agents))
      const [interrupt] = first.end?.interrupts ?? []
      expect([first.end?.outcome, first.end?.output]).toEqual(['interrupted', 'bye'])
      const second = await runToEnd(all(agents), first.resume({ [interrupt?.id ?? '']: 'yes' }))
      expect([second.end?.outcome, second.end?.output]).toEqual(['complete', 'bye'])
    }
  })

  test('of an exit stays if the run is aborted while another branch speaks', async () => {
    const controller = new AbortController()
    const speaking = agentOf('b', async function* (ctx) {
      await idle()
      yield* say(ctx, 'B.')
      controller.abort()
      ctx.signal.throwIfAborted()
    })
    const exit = yielding('a', { type: 'exit', result: 'bye' })
    const { end } = await runToEnd(all([exit, speaking]), hello, { signal: controller.signal })
    expect([end?.outcome, end?.text, end?.output]).toEqual(['cancelled', 'a', 'bye'])
  })
})
