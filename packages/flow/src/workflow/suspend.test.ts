import { getEventListeners } from 'node:events'
import { type Agent, type Answers, type RunInfo, say } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { testAgent } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import {
  agentOf,
  asking,
  quiet,
  type RecordedRun,
  runToEnd,
  talker,
  textsOf,
  tool,
  transferring,
} from '../flow.fixture.ts'
import {
  agentTool,
  agentWithOptions,
  loop,
  parallel,
  planExecute,
  sequential,
  setSubAgents,
  supervisor,
} from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

/** An agent whose call asks; it repeats the answer. */
const asker = (name: string, question = `ask-${name}`) =>
  scriptedAgent(name, [['note', question], `${name} has heard.`], asking(question), tool('note'))
const steps = (...agents: readonly Agent[]) => sequential({ name: 'steps', agents })
const all = (...agents: readonly Agent[]) => parallel({ name: 'all', agents })
const rounds = (...agents: readonly Agent[]) => loop({ name: 'rounds', agents, maxIterations: 2 })
const answer = (interrupts: readonly { readonly id: string }[]): Answers =>
  Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))
const goOn = (agent: Agent, first: RecordedRun, answers: Answers, runId = 'R2') =>
  runToEnd(agent, first.resume(answers), { runId })
const asked = ({ end }: RecordedRun) => end?.interrupts?.map(({ id }) => id)
/** The calls that ask. */
const callsOf = ({ end }: RecordedRun) => end?.interrupts?.map(({ callId }) => callId)
const started = ({ events }: RecordedRun) =>
  events.flatMap((event) => (event.type === 'tool-start' ? [event.name] : []))

const places: readonly (readonly [string, () => Agent])[] = [
  ['an agent with sub-agents', () => setSubAgents(asker('a'), [talker('x')])],
  ['a step', () => steps(talker('x'), asker('a'), talker('y'))],
  ['a loop', () => loop({ name: 'rounds', agents: [talker('x'), asker('a')], maxIterations: 1 })],
  ['a branch', () => all(talker('x'), asker('a'), talker('y'))],
  ['two branches', () => all(asker('a'), asker('b'))],
  ['a transfer target', () => setSubAgents(transferring('lead', 'a'), [asker('a')])],
  [
    'a supervised agent',
    () => supervisor({ supervisor: scriptedAgent('lead', [transfer('a'), 'Done.']), agents: [asker('a')] }),
  ],
  [
    'a plan',
    () =>
      planExecute({
        name: 'plan',
        planner: talker('p'),
        executor: asker('a'),
        replanner: talker('r'),
        maxIterations: 1,
      }),
  ],
  ['workflows in workflows', () => steps(all(rounds(steps(asker('a'))), talker('x')), talker('y'))],
  [
    'a workflow as a transfer target',
    () => setSubAgents(transferring('lead', 'steps'), [steps(asker('a'), talker('y'))]),
  ],
  ['a tree in a branch', () => all(setSubAgents(transferring('lead', 'a'), [asker('a')]), talker('x'))],
]

for (const [place, make] of places)
  testAgent(`${place} with a question`, make, { answer, settings: { canInterrupt: true } })

/** The agent itself, and as a runner runs it. */
const wrapped = places.flatMap(([place, make]) => [
  [place, make] as const,
  [`${place}, wrapped`, () => agentWithOptions(make(), {})] as const,
])

describe('one action carries every question and the state', () => {
  test.each(wrapped)('in %s', async (_, make) => {
    const agent = make()
    const first = await runToEnd(agent)
    const carried = first.actions.filter(({ type }) => type === 'interrupt')
    expect(carried).toHaveLength(1)
    expect(first.lines.at(-2)).toMatch(new RegExp(`^${agent.name} (action|agent-end)`))
    expect(carried[0]).toMatchObject({ interrupts: first.end?.interrupts, state: expect.anything() })
    expect(first.end?.outcome).toBe('interrupted')
    for (const { id, callId } of first.end?.interrupts ?? []) {
      expect(callId).toMatch(/^ask-[ab]$/)
      expect(id).toMatch(new RegExp(`^${callId}#`))
    }
  })

  test.each(wrapped)('in %s: answered, it goes on and repeats nothing', async (_, make) => {
    const first = await runToEnd(make())
    const second = await goOn(make(), first, answer(first.end?.interrupts ?? []))
    expect(second.end?.outcome).toBe('complete')
    expect(second.errors).toEqual([])
    const again = started(second).filter((name) => name !== 'transfer_to_agent' && started(first).includes(name))
    expect(again).toEqual([])
  })

  test.each(wrapped)('in %s: without answers it asks the same again', async (_, make) => {
    const first = await runToEnd(make())
    const second = await goOn(make(), first, {})
    expect([second.end?.outcome, asked(second)]).toEqual(['interrupted', asked(first)])
    const third = await runToEnd(make(), { ...second.resume(answer(second.end?.interrupts ?? [])) }, { runId: 'R3' })
    expect(third.end?.outcome).toBe('complete')
  })
})

describe('where it goes on', () => {
  test('in its step: those before it do not run again, those after it follow', async () => {
    const last = scriptedAgent('y', ['Y.'])
    const make = () => steps(talker('x'), asker('a'), last)
    const first = await runToEnd(make())
    expect([first.turns, callsOf(first)]).toEqual([['steps', 'steps/x', 'steps/a'], ['ask-a']])
    const second = await goOn(make(), first, { 'ask-a': 'yes' })
    expect(second.turns).toEqual(['steps', 'steps/a', 'steps/y'])
    expect(second.said).toEqual(['a: answered yes', 'a: a has heard.', 'y: Y.'])
    expect(textsOf(last.inputs[0]?.messages ?? []).slice(-2)).toEqual([
      'user: For context: [a] `ask-a` tool returned result: answered yes.',
      'user: For context: [a] said: a has heard..',
    ])
  })

  test('in its iteration of a loop: those before it are not counted again', async () => {
    const a = scriptedAgent('a', ['First.', ['ask'], 'Second.', 'Third.', 'Fourth.'], asking())
    const make = () => loop({ name: 'rounds', agents: [a, talker('x')], maxIterations: 3 })
    const first = await runToEnd(make())
    expect(first.turns).toEqual(['rounds', 'rounds/a', 'rounds/x', 'rounds/a'])
    const second = await goOn(make(), first, { ask: 'yes' })
    expect(second.said).toEqual(['a: answered yes', 'a: Second.', 'x: I am x.', 'a: Third.', 'x: I am x.'])
  })

  test('in a transfer target, with its path; the budget of transfers continues from there', async () => {
    const make = () => setSubAgents(transferring('lead', 'mid'), [setSubAgents(transferring('mid', 'a'), [asker('a')])])
    const first = await runToEnd(make())
    const second = await goOn(make(), first, { 'ask-a': 'yes' })
    expect(second.turns).toEqual(['lead/mid/a'])
    expect(second.end?.text).toBe('a has heard.')
  })

  test('in a supervised agent, which then returns', async () => {
    const make = () => supervisor({ supervisor: scriptedAgent('lead', [transfer('a'), 'Done.']), agents: [asker('a')] })
    const second = await goOn(make(), await runToEnd(make()), { 'ask-a': 'yes' })
    expect([second.turns, second.end?.text]).toEqual([['lead/a', 'lead/a/lead'], 'Done.'])
  })

  test('and may ask again elsewhere', async () => {
    const make = () => steps(asker('a'), setSubAgents(transferring('lead', 'b'), [asker('b')]))
    const first = await runToEnd(make())
    const second = await goOn(make(), first, { 'ask-a': 'yes' })
    expect([second.end?.outcome, callsOf(second)]).toEqual(['interrupted', ['ask-b']])
    const third = await goOn(make(), second, { 'ask-b': 'yes' }, 'R3')
    expect([third.turns, third.end?.text]).toEqual([['steps', 'steps/lead/b'], 'b has heard.'])
  })

  test('in an agent without resume that asks by itself: it runs again and gets the answer there', async () => {
    const own = (name: string) =>
      agentOf(name, async function* (ctx) {
        const heard = await ctx.interrupt({ reason: 'input' })
        yield* say(ctx, `${name} heard ${heard}`)
      })
    const make = () => steps(talker('x'), all(own('a'), setSubAgents(transferring('lead', 'b'), [own('b')])))
    const first = await runToEnd(make())
    expect(asked(first)).toHaveLength(2)
    const second = await goOn(make(), first, answer(first.end?.interrupts ?? []))
    expect(second.said.toSorted()).toEqual(['a: a heard yes', 'b: b heard yes'])
  })

  test('through an agent tool in a step', async () => {
    const inner = steps(asker('a'), talker('y'))
    const make = () =>
      steps(
        scriptedAgent('outer', [[{ name: 'steps', args: { request: 'Go.' } }], 'Done.'], agentTool(inner)),
        talker('z'),
      )
    const top = () => sequential({ name: 'top', agents: [make()] })
    const first = await runToEnd(top())
    expect(asked(first)).toEqual([expect.stringMatching(/^steps\/ask-a#/)])
    const second = await goOn(top(), first, { steps: 'yes' })
    expect(second.said).toEqual(['outer: I am y.', 'outer: Done.', 'z: I am z.'])
  })

  test('a soft cancel of the resumed run is obeyed before the next step', async () => {
    const make = () => steps(asker('a'), talker('y'))
    const first = await runToEnd(make())
    let calls = 0
    const settings = { runId: 'R2', cancelling: () => (calls++ > 0 ? ('after-tools' as const) : undefined) }
    const second = await runToEnd(make(), first.resume({ 'ask-a': 'yes' }), settings)
    expect([second.turns.includes('steps/y'), second.end?.outcome]).toEqual([false, 'cancelled'])
  })
})

test('state that was set before the question is not written again', async () => {
  const make = () =>
    steps(
      quiet('x', (ctx) => ctx.state.set('k', 1)),
      asker('a'),
    )
  const second = await goOn(make(), await runToEnd(make()), { 'ask-a': 'yes' })
  expect(second.lines.filter((line) => line.includes('state-delta'))).toEqual([])
})

test.each(places)(
  'in %s: a resumed run that is aborted after any event ends once, with everybody in it',
  async (_, make) => {
    const first = await runToEnd(make())
    const start = first.resume(answer(first.end?.interrupts ?? []))
    const { length } = (await runToEnd(make(), start, { runId: 'R2' })).events
    for (let stop = 1; stop < length; stop++) {
      const controller = new AbortController()
      const open: string[] = []
      const onEnd = ({ spanId }: RunInfo) => void open.splice(open.indexOf(spanId), 1)
      const agent = { onStart: ({ spanId }: RunInfo) => void open.push(spanId), onEnd, onError: onEnd }
      const settings = { canInterrupt: true, signal: controller.signal, callbacks: [{ name: 'spans', agent }] }
      const seen: string[] = []
      for await (const { type } of startRun(make(), start, settings).eventsWithoutThrowing())
        if (seen.push(type) === stop) controller.abort()
      expect([seen.at(-1), open], `aborted after ${stop}`).toEqual(['run-end', []])
      expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    }
  },
)
