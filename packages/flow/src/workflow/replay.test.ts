import { type Agent, KernelError } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { asking, failing, hello, quiet, runToEnd, slow, talker, textsOf, tool } from '../flow.fixture.ts'
import { agentTool, loop, parallel, sequential, setSubAgents, supervisor } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

/** Uses everything together: trees, workflows, tools, questions, open calls, an agent tool, a failing branch. */
const everything = (): Agent => {
  const nested = scriptedAgent(
    'outer',
    [[{ name: 'inner', args: { request: 'Go.' } }], 'Out.'],
    agentTool(talker('inner'), { forward: true }),
  )
  const branches = parallel({
    name: 'all',
    onError: 'continue',
    agents: [
      setSubAgents(scriptedAgent('lead', [transfer('leaf')]), [talker('leaf')]),
      scriptedAgent('asker', [['t', 'ask'], 'Heard.'], tool('t'), asking()),
      scriptedAgent('waiter', [['slow'], 'Got it.'], slow()),
      failing('broken', new KernelError('MINE', 'mine: no')),
      quiet('writer', (ctx) => ctx.state.set('k', ctx.step)),
    ],
  })
  const boss = supervisor({
    supervisor: scriptedAgent('boss', [transfer('rounds'), 'Done.']),
    agents: [loop({ name: 'rounds', agents: [nested], maxIterations: 2 })],
  })
  return sequential({ name: 'steps', agents: [boss, branches, talker('last')] })
}

describe('replay', () => {
  test('a run with the same id repeats the same events exactly', async () => {
    const [one, two] = [await runToEnd(everything()), await runToEnd(everything())]
    expect(one.end).toMatchObject({ outcome: 'interrupted', openCallIds: ['slow'] })
    expect(two.events).toEqual(one.events)
  })

  test('so does a run that goes on', async () => {
    const first = await runToEnd(everything())
    const goOn = () => runToEnd(everything(), first.resume({ ask: 'yes' }), { runId: 'R2' })
    const [one, two] = [await goOn(), await goOn()]
    expect(one.events).toEqual(two.events)
    expect(one.said).toEqual(['asker: answered yes', 'asker: Heard.'])
  })

  test('a run of another id differs in the ids alone', async () => {
    const [one, two] = [await runToEnd(everything()), await runToEnd(everything(), hello, { runId: 'S' })]
    const renamed = JSON.parse(JSON.stringify(two.events).replaceAll('"S/', '"R/').replaceAll('"S"', '"R"'))
    expect(renamed).toEqual(one.events)
  })

  test('no message and no call has the id of another, in the run and in the one that goes on', async () => {
    const first = await runToEnd(everything())
    const second = await runToEnd(everything(), first.resume({ ask: 'yes' }), { runId: 'R2' })
    const ids = second.history.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const calls = second.history.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length)
  })
})

describe('order after a resume', () => {
  test('results of one turn are in listed order, whichever came first', async () => {
    const after = scriptedAgent('after', ['Done.'])
    const make = () =>
      sequential({ name: 'steps', agents: [scriptedAgent('a', [['ask', 't'], 'Heard.'], asking(), tool('t')), after] })
    await runToEnd(make(), (await runToEnd(make())).resume({ ask: 'yes' }), { runId: 'R2' })
    expect(textsOf(after.inputs[0]?.messages ?? []).slice(2, 4)).toEqual([
      'user: For context: [a] `ask` tool returned result: answered yes.',
      'user: For context: [a] `t` tool returned result: t done.',
    ])
  })

  test('a branch that asks again and again keeps its own history together', async () => {
    const twice = (name: string) =>
      scriptedAgent(name, [[`${name}1`], [`${name}2`], `${name} done.`], asking(`${name}1`), asking(`${name}2`))
    const [a, b] = [twice('a'), twice('b')]
    const make = () => parallel({ name: 'all', agents: [a, b] })
    const first = await runToEnd(make())
    const second = await runToEnd(make(), first.resume({ a1: 1 }), { runId: 'R2' })
    const third = await runToEnd(make(), second.resume({ a2: 2, b1: 3 }), { runId: 'R3' })
    expect(third.end?.interrupts?.map(({ callId }) => callId)).toEqual(['b2'])
    const fourth = await runToEnd(make(), third.resume({ b2: 4 }), { runId: 'R4' })
    expect([fourth.end?.outcome, fourth.said]).toEqual(['complete', ['b: answered 4', 'b: b done.']])
    expect(textsOf(a.inputs.at(-1)?.messages ?? [])).toEqual(['user: Hello', 'a: a1({})', 'a: answered 1', 'a: a2({})'])
    expect(textsOf(b.inputs.at(-1)?.messages ?? [])).toEqual(['user: Hello', 'b: b1({})', 'b: answered 3', 'b: b2({})'])
  })
})
