import { chatModelAgent } from '@troupe/chat-model'
import { parallel, runner, sequential } from '@troupe/flow'
import { type Agent, type AgentHandler, defineTool, KernelError, type RunContext, type RunResult } from '@troupe/kernel'
import { nextMacrotask, untilAborted } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { observe } from '@troupe/kernel/run'
import { fakeClock, type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { ANN } from './killable.fixture.ts'

const refused = new KernelError('MODEL_FAILED', 'm: bad request')
const HALF: ScriptedTurn = { text: ['Half ', 'an answer'], error: { at: 'mid', error: refused } }
const HANGING: ScriptedTurn = { text: ['Half ', 'an answer'], hang: 'mid' }
const calling = (...names: readonly string[]): ScriptedTurn => ({
  text: 'I look.',
  toolCalls: names.map((name) => ({ name })),
})
const pause = async (ticks: number) => {
  for (let i = 0; i < ticks; i++) await nextMacrotask()
}
const tool = (name: string, invoke: (ctx: RunContext) => unknown, more: object = {}) =>
  defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    invoke: (_, ctx) => invoke(ctx) as string,
    ...more,
  })
const TOOLS = [
  tool('slow', async () => {
    await pause(5)
    return 'slow'
  }),
  tool('quick', () => 'quick'),
  tool('hangs', (ctx) => untilAborted(ctx.signal, new Promise(() => {}))),
  tool('fails', () => Promise.reject(new Error('no')), { onError: 'throw' }),
]

/** Runs an agent on a thread, and stops it once everybody waits. */
async function held(agent: Agent, stop: 'abort' | 'cancel' | 'time' | undefined) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const chat = runner({ agent, store, clock })
  const abort = new AbortController()
  const run = chat.query('Go', { session: ANN, runId: 'R', signal: abort.signal, timeoutMs: 5_000 })
  const ended = run.then(
    (result) => result,
    () => undefined,
  )
  await pause(50)
  if (stop === 'abort') abort.abort()
  if (stop === 'cancel') await chat.cancel(ANN)
  if (stop === 'time') clock.advance(5_000)
  for (let i = 0; i < 10; i++) {
    await pause(20)
    clock.advance(500)
  }
  const result = await ended
  const stored = (await store.threads.messages(ANN)).map(({ message }) => message).filter(({ role }) => role !== 'user')
  return { result, stored }
}

describe('`afterAgent` gets the messages that the thread gets', () => {
  const cases: [string, readonly ScriptedTurn[], ('abort' | 'cancel' | 'time' | undefined)?][] = [
    ['after an answer', [calling('slow', 'quick'), 'Done.']],
    ['after an error of the model', [calling('slow', 'quick'), HALF]],
    ['after an abort in an answer', [calling('slow', 'quick'), HANGING], 'abort'],
    ['after a cancel in an answer', [HANGING], 'cancel'],
    ['when the time is over in an answer', [HANGING], 'time'],
    ['after an abort in a call', [calling('hangs', 'quick')], 'abort'],
    ['when the time is over in a call', [calling('hangs', 'quick')], 'time'],
    ['after a call that ends the run', [calling('fails', 'quick')]],
  ]
  test.each(cases)('%s', async (_, turns, stop) => {
    const results: RunResult[] = []
    const listen: AgentHandler = { name: 'listen', afterAgent: (_ctx, result) => void results.push(result) }
    const agent = chatModelAgent({
      name: 'a',
      model: scriptedModel(turns),
      tools: TOOLS,
      handlers: [listen],
      retry: false,
      toolRetry: false,
    })
    const { stored, result } = await held(agent, stop)
    expect(results).toHaveLength(1)
    expect(results[0]?.messages).toEqual(stored)
    if (result) expect(result.messages).toEqual(stored)
  })
})

describe('the messages in the result of a parallel run', () => {
  const branch = (name: string, ticks: number) =>
    chatModelAgent({
      name,
      model: scriptedModel([calling(`wait-${name}`), `${name} is done.`]),
      tools: [tool(`wait-${name}`, () => pause(ticks).then(() => name))],
    })
  const both = () => parallel({ name: 'both', agents: [branch('first', 9), branch('second', 1)] })
  const around = (inner: Agent): Agent => ({
    name: 'around',
    description: 'Runs another agent.',
    run: (input, ctx) => observe(inner, input, ctx.derive({ step: 'inner', runPath: [...ctx.runPath, 'around'] })),
  })
  const agents: [string, () => Agent][] = [
    ['on its own', both],
    ['inside a sequence', () => sequential({ name: 's', agents: [both()] })],
    ['inside another one', () => parallel({ name: 'p', agents: [both(), branch('third', 0)] })],
    ['inside an agent that is not a flow', () => around(both())],
    ['inside such an agent in a branch', () => parallel({ name: 'p', agents: [around(both()), branch('third', 0)] })],
    ['inside such an agent inside another', () => around(sequential({ name: 's', agents: [around(both())] }))],
  ]

  test.each(agents)('are in the order of the list, like those of the thread, if it is %s', async (_, agent) => {
    const { stored, result } = await held(agent(), undefined)
    const names = stored.map((message) => ('agentName' in message ? message.agentName : undefined))
    const wanted = ['first', 'second', 'third'].flatMap((name) => (names.includes(name) ? [name, name, name] : []))
    expect(names).toEqual(wanted)
    expect(result?.messages).toEqual(stored)
  })
})
