import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, type RunnerOptions, runner } from '@troupe/flow'
import { type Agent, type AgentEvent, type Clock, defineTool, KernelError, type Tool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { ANN } from './killable.fixture.ts'

const tick = () => new Promise<void>((resolve) => void setTimeout(resolve, 1))
const call = (...names: readonly string[]) => ({ toolCalls: names.map((name) => ({ name })) })

const toolOf = (name: string, invoke: () => Promise<string>): Tool =>
  defineTool({ name, description: name, kind: 'write', parameters: { type: 'object' }, invoke })

/** A process that can be paused, and what it did; while it is paused, its timers do not fire. */
function world(options: Partial<RunnerOptions> = {}) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const done: string[] = []
  const reached = Promise.withResolvers<void>()
  const thawed = Promise.withResolvers<void>()
  let paused = false
  let setBack = 0
  const own: Clock = {
    now: () => clock.now() - setBack,
    after: (ms, fire) => clock.after(ms, () => void (paused || fire())),
  }
  const pausing = toolOf('pause', async () => {
    done.push('pause')
    paused = true
    reached.resolve()
    await thawed.promise
    return 'paused'
  })
  const send = toolOf('send', async () => {
    done.push('send')
    return 'sent'
  })
  const model = (...turns: Parameters<typeof scriptedModel>[0] & readonly unknown[]) => {
    const scripted = scriptedModel(turns)
    return {
      ...scripted,
      stream: (...args: Parameters<typeof scripted.stream>) => {
        done.push('model')
        return scripted.stream(...args)
      },
    }
  }
  return {
    store,
    done,
    pausing,
    send,
    model,
    runner: (agent: Agent) => runner({ agent, store, clock: own, report: () => {}, durability: 'turn', ...options }),
    reached: reached.promise,
    pause: () => {
      paused = true
    },
    setClockBack(ms: number) {
      setBack = ms
    },
    /** Lets more time pass than the lease has. */
    async pass() {
      clock.advance(31_000)
      await tick()
    },
    async takeOver() {
      const other = chatModelAgent({ name: 'Desk', model: scriptedModel(['Taken.']) })
      await runner({ agent: other, store, clock }).query('Go on', { session: ANN, runId: 'other' })
    },
    async goOn() {
      paused = false
      thawed.resolve()
      await tick()
    },
  }
}

/** An agent that is paused in its first call, and sends in its second. */
const desk = ({ pausing, send, model }: ReturnType<typeof world>): Agent =>
  chatModelAgent({
    name: 'Desk',
    tools: [pausing, send],
    toolConcurrency: 1,
    model: model(call('pause', 'send'), 'Done.'),
  })

const codeOf = (run: PromiseLike<unknown>) =>
  run.then(
    () => 'complete',
    (error: unknown) => KernelError.from(error).code,
  )

describe('a process that was paused for longer than its lease', () => {
  test('calls neither the model nor a tool after another process took its thread', async () => {
    const here = world()
    const end = codeOf(here.runner(desk(here)).query('Go', { session: ANN, runId: 'R' }))
    await here.reached
    await here.pass()
    await here.takeOver()
    await here.goOn()
    expect([await end, here.done]).toEqual(['LEASE_LOST', ['model', 'pause']])
  })

  test('runs no tool whose announcement waited for its reader', async () => {
    const here = world({ durability: 'step' })
    const agent = chatModelAgent({ name: 'Desk', tools: [here.send], model: here.model(call('send'), 'Done.') })
    const events: string[] = []
    const reading = async () => {
      const run = here.runner(agent).query('Go', { session: ANN, runId: 'R' })
      for await (const { type } of run.eventsWithoutThrowing()) {
        events.push(type)
        if (type !== 'tool-start') continue
        here.pause()
        await here.pass()
        await here.takeOver()
        await here.goOn()
      }
    }
    await reading()
    expect([events.at(-1), here.done]).toEqual(['run-end', ['model']])
  })

  test('runs no tool of an agent inside a call', async () => {
    const here = world()
    const inner = chatModelAgent({
      name: 'Inner',
      tools: [here.pausing, here.send],
      toolConcurrency: 1,
      model: here.model(call('pause', 'send'), 'Done.'),
    })
    const agent = chatModelAgent({
      name: 'Desk',
      tools: [agentTool(inner, { forward: false })],
      model: here.model({ toolCalls: [{ name: 'Inner', arguments: { request: 'Go' } }] }, 'Done.'),
    })
    const end = codeOf(here.runner(agent).query('Go', { session: ANN, runId: 'R' }))
    await here.reached
    await here.pass()
    await here.takeOver()
    await here.goOn()
    expect([await end, here.done]).toEqual(['LEASE_LOST', ['model', 'model', 'pause']])
  })

  test('does nothing more by `ctx.perform`', async () => {
    const here = world()
    const agent: Agent = {
      name: 'Desk',
      description: '',
      async *run(_, ctx): AsyncGenerator<AgentEvent> {
        await here.pausing.invoke?.({}, ctx, {} as never)
        await ctx.perform('send', async () => void here.done.push('send'))
      },
    }
    const end = codeOf(here.runner(agent).query('Go', { session: ANN, runId: 'R' }))
    await here.reached
    await here.pass()
    await here.takeOver()
    await here.goOn()
    expect([await end, here.done]).toEqual(['LEASE_LOST', ['pause']])
  })

  test('asks for its lease too if its clock was set back meanwhile', async () => {
    const here = world()
    const end = codeOf(here.runner(desk(here)).query('Go', { session: ANN, runId: 'R' }))
    await here.reached
    await here.pass()
    await here.takeOver()
    here.setClockBack(60_000)
    await here.goOn()
    expect([await end, here.done]).toEqual(['LEASE_LOST', ['model', 'pause']])
  })

  test('goes on if nobody took its thread', async () => {
    const here = world()
    const end = codeOf(here.runner(desk(here)).query('Go', { session: ANN, runId: 'R' }))
    await here.reached
    await here.pass()
    await here.goOn()
    expect([await end, here.done]).toEqual(['complete', ['model', 'pause', 'send', 'model']])
  })
})
