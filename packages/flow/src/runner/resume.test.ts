import type { Agent, AgentEvent, Interrupt, RunContext } from '@troupe/kernel'
import { say } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { record } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { setSubAgents } from '../index.ts'
import { obedient, TOOLS } from './obedient.fixture.ts'
import {
  ANN,
  asking,
  checkpointOf,
  readTo,
  resultOf,
  session,
  settled,
  setup,
  tamper,
  tapped,
  unsound,
  user,
} from './runner.fixture.ts'

describe('a question', () => {
  test('ends the run as interrupted, with every open question', async () => {
    const { events, end } = await record(setup().runner().query('call add:a ask:b ask:c', session))
    const asked = events.flatMap((event) => (event.type === 'action' ? [event.action] : []))
    expect(asked).toMatchObject([{ type: 'interrupt', interrupts: [{ callId: 'b' }, { callId: 'c' }] }])
    expect(asked).toMatchObject([{ interrupts: end?.interrupts ?? [] }])
    expect(end).toMatchObject({ outcome: 'interrupted', interrupts: [{ callId: 'b' }, { callId: 'c' }] })
  })

  test('is shown only after its checkpoint is stored', async () => {
    const order: string[] = []
    const env = setup({}, (clock) => tapped(memoryStore({ clock }), (operation) => void order.push(operation)))
    for await (const { type } of env.runner().query('call ask:a', session)) order.push(type)
    const shown = order.indexOf('action')
    expect(shown).toBeGreaterThan(0)
    expect(order.slice(0, shown)).toContain('threads.commit')
  })

  test('carries no state for a consumer or a callback', async () => {
    const { heard, runner } = setup()
    const { events } = await record(runner().query('call ask:a', session))
    expect(JSON.stringify([events, heard])).not.toContain('where it goes on')
    expect(events.some((event) => event.type === 'action' && 'state' in event.action)).toBe(false)
  })

  test('of an agent without a thread carries no state either', async () => {
    const interrupt: Interrupt = { id: 'x', reason: 'input', agentName: 'A' }
    const agent: Agent = {
      name: 'A',
      description: '',
      async *run() {
        yield { type: 'action', action: { type: 'interrupt', interrupts: [interrupt], state: 'where it goes on' } }
      },
    }
    const { heard, runner } = setup({ agent })
    await settled(runner().query('hi'))
    expect(JSON.stringify(heard)).not.toContain('where it goes on')
  })

  test('can be answered when the consumer has left at it', async () => {
    const env = setup()
    const desk = env.runner()
    for await (const event of desk.query('call ask:a', session)) if (event.type === 'action') break
    expect(await settled(desk.resume(await env.answers({ a: 'yes' }), session))).toBe('got "yes"')
    expect(env.clock.pending).toBe(0)
  })

  test('is in the thread as JSON, with the run and agent that asked', async () => {
    const env = await asking()
    const checkpoint = await checkpointOf(env)
    expect(checkpoint).toMatchObject({
      format: 1,
      runId: 'R1',
      agentName: 'Desk',
      interrupts: [{ callId: 'b' }, { callId: 'c' }],
    })
    expect(JSON.parse(JSON.stringify(checkpoint))).toEqual(checkpoint)
    expect(await env.lines()).toEqual([
      'user call add:a ask:b ask:c',
      'assistant -> add:a ask:b ask:c',
      'tool a: added a',
    ])
  })
})

describe('the end of a run with a question that its reader does not wait for', () => {
  test.each(['abort', 'cancel', 'leave'])('lists the question, after a %s when it is shown', async (how) => {
    expect((await stopAt('action', how)).heard.at(-1)).toMatchObject(INTERRUPTED)
  })

  test.each(['abort', 'cancel', 'leave'])(
    'lists the question or drops it, after a %s before it is shown',
    async (how) => {
      const env = await stopAt('agent-end', how)
      const end = env.heard.at(-1)
      expect(end).toMatchObject((await checkpointOf(env)) ? INTERRUPTED : { outcome: 'cancelled' })
      expect(end).not.toHaveProperty('openCallIds')
    },
  )

  const INTERRUPTED = { type: 'run-end', outcome: 'interrupted', interrupts: [{ callId: 'a' }] }
  const stopAt = async (type: AgentEvent['type'], how: string) => {
    const env = setup()
    const desk = env.runner()
    const stop = new AbortController()
    for await (const event of desk.query('call ask:a', { ...session, signal: stop.signal }).eventsWithoutThrowing()) {
      if (event.type !== type) continue
      if (how === 'leave') break
      if (how === 'abort') stop.abort()
      else await desk.cancel(ANN)
    }
    expect(env.heard.filter(({ type }) => type === 'run-end')).toHaveLength(1)
    return env
  }
})

describe('resume', () => {
  test('with all answers goes on where it stopped: no second tool-start, no finished call again', async () => {
    const ran: string[] = []
    const add = (_: unknown, id: string) => `ran ${ran.push(id)}`
    const env = await asking(undefined, obedient('Desk', { ...TOOLS, add }))
    const { lines } = await record(env.desk.resume(await env.answers({ b: 'yes', c: 2 }), session))
    expect(lines).toEqual([
      'Desk run-start',
      'Desk agent-start',
      'Desk tool-end ask complete "\\"yes\\""',
      'Desk tool-end ask complete "2"',
      'Desk message-start',
      'Desk text-delta "got ran 1, \\"yes\\", 2"',
      'Desk message-end "got ran 1, \\"yes\\", 2"',
      'Desk agent-end complete',
      'Desk run-end complete "got ran 1, \\"yes\\", 2"',
    ])
    expect(ran).toEqual(['a'])
    expect(await checkpointOf(env)).toBeUndefined()
    expect(unsound(await env.messages())).toEqual([])
  })

  test('with some answers leaves the others open, in any order', async () => {
    const env = await asking()
    const [first] = (await checkpointOf(env))?.interrupts ?? []
    expect(await settled(env.desk.resume(await env.answers({ c: 'second' }), session))).toBe('interrupted')
    expect((await checkpointOf(env))?.interrupts).toEqual([first])
    expect(first?.callId).toBe('b')
    expect(await settled(env.desk.resume(await env.answers({ b: 'first' }), session))).toBe(
      'got added a, "second", "first"',
    )
    expect(unsound(await env.messages())).toEqual([])
  })

  test('works in another runner, from a checkpoint that went through JSON', async () => {
    const env = await asking()
    await tamper(env, (checkpoint) => JSON.parse(JSON.stringify(checkpoint)))
    expect(await settled(env.runner().resume(await env.answers({ b: 1, c: 2 }), session))).toBe('got added a, 1, 2')
  })

  test('goes on in the agent that asked, with its run path', async () => {
    const agent = () => setSubAgents(obedient('Desk'), [setSubAgents(obedient('Floor'), [obedient('Leaf')])])
    const env = await asking('to:Floor/Leaf call ask:a', agent())
    const { events, end } = await record(env.runner({ agent: agent() }).resume(await env.answers({ a: true }), session))
    const started = events.filter(({ type }) => type === 'agent-start')
    expect(started).toMatchObject([{ agentName: 'Leaf', runPath: ['Desk', 'Floor'] }])
    expect(end?.text).toBe('got true')
  })

  test('brings additions and options to the agent', async () => {
    const seen: unknown[] = []
    const agent: Agent = {
      ...obedient('Desk'),
      resume({ additions, options }, ctx) {
        seen.push(additions, options)
        return say(ctx, 'done')
      },
    }
    const env = await asking('call ask:a', agent)
    const additions = { instruction: 'Be kind.' }
    await env.desk.resume(await env.answers({ a: 1 }), { ...session, additions, options: { maxIterations: 3 } })
    expect(seen).toMatchObject([additions, { maxIterations: 3 }])
  })

  test('brings changes of state, stored with the turn, and marks what is done when the answers are taken', async () => {
    const env = setup({ agent: obedient('Desk') })
    const desk = env.runner()
    await desk.query('set old 1', session)
    await desk.query('call ask:a', session)
    const ref = session.session
    const commits: unknown[] = []
    const { commit } = env.store.threads
    env.store.threads.commit = (...args) => {
      commits.push(args[1].processed)
      return commit(...args)
    }
    const state = { set: { mood: 'good' }, removed: ['old'] }
    const answers = await env.answers({ a: 1 })
    await desk.resume(answers, { ...session, state, processed: ['m7'] })
    expect(commits[0]).toEqual(['m7'])
    expect(await env.store.threads.processed(ref, ['m7', 'm8'])).toEqual(['m7'])
    expect((await env.store.threads.get(ref))?.state).toEqual({ mood: 'good' })
    const broken = desk.resume(answers, { ...session, state: { set: { constructor: 1 } } })
    expect(await settled(broken)).toBe('VALIDATION_FAILED')
  })

  test('runs an agent that cannot resume again from its start, and it finds its answer there', async () => {
    const starts: number[] = []
    const agent: Agent = {
      name: 'Plain',
      description: '',
      async *run(_, ctx) {
        starts.push(starts.length)
        yield* say(ctx, `so ${await ctx.interrupt<string>({ reason: 'input' })}`)
      },
    }
    const env = await asking('hi', agent)
    const [question] = (await checkpointOf(env))?.interrupts ?? []
    expect(question).toMatchObject({ agentName: 'Plain', reason: 'input' })
    expect(await settled(env.desk.resume({ [question?.id ?? '']: 'be it' }, session))).toBe('so be it')
    expect(starts).toEqual([0, 1])
  })

  test('of a question twice is INTERRUPT_UNKNOWN the second time, and nothing is changed', async () => {
    const env = await asking('call ask:a')
    const answers = await env.answers({ a: 1 })
    await env.desk.resume(answers, session)
    const before = await env.snapshot()
    expect(await settled(env.desk.resume(answers, session))).toBe('INTERRUPT_UNKNOWN')
    expect(await env.snapshot()).toEqual(before)
  })

  test('that fails answers its calls neutrally, and the next message works', async () => {
    const fail = async (ctx: RunContext) => {
      await ctx.interrupt({ reason: 'input' })
      throw new Error('the agent broke')
    }
    const env = await asking('call fail:a ask:b', obedient('Desk', { ...TOOLS, fail }))
    expect(await settled(env.desk.resume(await env.answers({ a: 1, b: 2 }), session))).toBe('AGENT_FAILED')
    expect(await checkpointOf(env)).toBeUndefined()
    expect(unsound(await env.messages())).toEqual([])
    expect(await settled(env.desk.query('next', session))).toBe('heard call fail:a ask:b | next')
  })
})

describe('while a question is open', () => {
  test('a message is PENDING_TOOL_CALLS and changes nothing', async () => {
    const env = await asking()
    const before = await env.snapshot()
    const error: unknown = await Promise.resolve(env.desk.query('hi', session)).catch((error: unknown) => error)
    const interruptIds = (await checkpointOf(env))?.interrupts.map(({ id }) => id)
    expect(interruptIds).toHaveLength(2)
    expect(error).toMatchObject({ code: 'PENDING_TOOL_CALLS', details: { interruptIds } })
    expect(await env.snapshot()).toEqual(before)
  })

  test('a message with pending drop answers its call neutrally, before the message', async () => {
    const env = await asking('call add:a ask:b')
    const answers = await env.answers({ b: 1 })
    expect(await settled(env.runner({ pending: 'drop' }).query('next', session))).toBe('heard call add:a ask:b | next')
    expect(unsound(await env.messages())).toEqual([])
    expect(await settled(env.desk.resume(answers, session))).toBe('INTERRUPT_UNKNOWN')
  })

  test('a run without messages leaves it open', async () => {
    const env = await asking('call ask:a')
    await settled(env.desk.run({ messages: [], processed: ['x'] }, session))
    expect(await settled(env.desk.resume(await env.answers({ a: 1 }), session))).toBe('got 1')
  })

  test('a result for its call is TOOL_CALL_UNKNOWN', async () => {
    const env = await asking('call ask:a')
    const before = await env.snapshot()
    expect(await settled(env.desk.run({ messages: [resultOf('a')] }, session))).toBe('TOOL_CALL_UNKNOWN')
    expect(await env.snapshot()).toEqual(before)
  })

  test('beside open calls, answers may come first', async () => {
    const env = await asking('call add:a ask:b open:c')
    expect((await env.store.threads.get(ANN))?.openCalls).toEqual([{ callId: 'c', name: 'open', agentName: 'Desk' }])
    expect(await env.desk.resume(await env.answers({ b: 1 }), session)).toMatchObject({
      outcome: 'complete',
      openCallIds: ['c'],
    })
    expect(await settled(env.desk.run({ messages: [resultOf('c')] }, session))).toBe('got added a, 1, result c')
    expect(unsound(await env.messages())).toEqual([])
  })

  test('beside open calls, results may come first', async () => {
    const env = await asking('call ask:b open:c')
    expect(await settled(env.desk.run({ messages: [resultOf('c')] }, session))).toBe('interrupted')
    expect((await checkpointOf(env))?.interrupts).toHaveLength(1)
    expect(await settled(env.desk.resume(await env.answers({ b: 1 }), session))).toBe('got result c, 1')
    expect(unsound(await env.messages())).toEqual([])
  })

  test('results and a message at once are refused as a whole', async () => {
    const env = await asking('call ask:b open:c')
    const before = await env.snapshot()
    expect(await settled(env.desk.run({ messages: [resultOf('c'), user('hi')] }, session))).toBe('PENDING_TOOL_CALLS')
    expect(await env.snapshot()).toEqual(before)
  })

  test('a cancel of the run that shows it leaves the thread as it was stored', async () => {
    const env = setup()
    const desk = env.runner()
    const iterator = await readTo(desk.query('call ask:a', session), 'action')
    await desk.cancel(ANN)
    await iterator.return?.()
    expect(await settled(desk.resume(await env.answers({ a: 1 }), session))).toBe('got 1')
  })
})
