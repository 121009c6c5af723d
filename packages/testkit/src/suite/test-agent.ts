import type {
  Agent,
  AgentAction,
  AgentEvent,
  AgentInput,
  Answers,
  Callback,
  Interrupt,
  Message,
  ResumeInfo,
  RunContext,
  RunSettings,
} from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel'
import { messageOf } from '@troupe/kernel/history'
import { startRun } from '@troupe/kernel/run'
import { expect } from 'vitest'
import { type Clause, register } from '../clause.ts'
import { checkAgents, checkTransfers } from './check-agents.ts'
import { checkMessages, checkRun, checkToolCalls } from './check-run.ts'
import { expectJson, expectNoListeners, frozen, promptly } from './patience.ts'

/** What an agent is run on during its suite. */
export interface TestAgentOptions {
  /** @default one user message */
  readonly input?: AgentInput
  /** Settings of its runs, for example values in the context. */
  readonly settings?: RunSettings
  /** Answers the questions of a run that is interrupted; the suite then resumes it. */
  readonly answer?: (interrupts: readonly Interrupt[]) => Answers
}

/**
 * The contract of `Agent` as tests.
 * @example testAgent('chatModelAgent', () => chatModelAgent({ name: 'a', model: scriptedModel(['Hi']) }))
 */
export function testAgent(name: string, make: () => Agent, options: TestAgentOptions = {}): void {
  checkOptionNames('testAgent', options, { input: true, settings: true, answer: true })
  register(name, agentClauses(make, options))
}

export function agentClauses(make: () => Agent, options: TestAgentOptions = {}): readonly Clause[] {
  const input = options.input ?? { messages: [{ id: 'u1', role: 'user', content: 'Hello' }] }
  const play = (agent: Agent, settings: RunSettings = {}) =>
    new Stage(agent, { ...input, messages: frozen(input.messages.slice()) }, { ...options.settings, ...settings })
  const clauses: Clause[] = [
    {
      name: 'has a name and a description',
      run: async () => {
        const { name, description } = make()
        expect(name).toEqual(expect.stringMatching(/\S/))
        expect(typeof description).toBe('string')
      },
    },
    {
      name: 'a run on untouchable input is well formed and does not fail',
      run: async () => {
        const { events } = await play(make()).read()
        checkRun(events)
        expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: expect.stringMatching(/complete|interrupted/) })
      },
    },
    {
      name: 'every event is plain JSON and says where it comes from',
      run: async () => {
        for (const event of (await play(make()).read()).events) {
          expectJson(event)
          expect(event).toMatchObject({
            runId: expect.any(String),
            agentName: expect.any(String),
            runPath: expect.any(Array),
          })
        }
      },
    },
    {
      name: 'each message begins, grows and ends once',
      run: async () => checkMessages((await play(make()).read()).events),
    },
    {
      name: 'each tool call is answered exactly once',
      run: async () => checkToolCalls((await play(make()).read()).events),
    },
    {
      name: 'an agent speaks between its start and its end, and its path says who led to it',
      run: async () => checkAgents((await play(make()).read()).events),
    },
    {
      name: 'who hands over ends before the other takes over',
      run: async () => checkTransfers((await play(make()).read()).events),
    },
    {
      name: 'two runs at once do not mix',
      run: async () => {
        const agent = make()
        const [first, second] = await Promise.all([play(agent).read(), play(agent).read()])
        for (const { events } of [first, second]) {
          checkRun(events)
          checkMessages(events)
        }
        expect(new Set([...first.ids(), ...second.ids()]).size).toBe(first.ids().length + second.ids().length)
      },
    },
    {
      name: 'a second run does not build on the first',
      run: async () => {
        const agent = make()
        const first = await play(agent).read()
        const second = await play(agent).read()
        expect(second.kinds()).toEqual(first.kinds())
      },
    },
    {
      name: 'takes additions without harm, if it says that it takes them',
      run: async () => {
        const agent = make()
        if (!agent.acceptsAdditions) return
        const tool = {
          name: 'added',
          description: '',
          parameters: { type: 'object' },
          kind: 'think',
          invoke: () => '',
        } as const
        const additions = { instruction: 'Be kind.', tools: [{ tool, returnDirectly: false }] }
        const stage = await new Stage(agent, { ...input, additions }, { ...options.settings }).read()
        checkRun(stage.events)
        expect(stage.events.at(-1)).toMatchObject({ outcome: expect.stringMatching(/complete|interrupted/) })
      },
    },
    {
      name: 'resumed with answers, it announces no call again and repeats none that was answered',
      run: async () => {
        if (!options.answer) return
        const agent = make()
        const settings = { canInterrupt: true, ...options.settings }
        const first = await new Stage(agent, input, settings).read()
        const start = first.resumption(input.messages, options.answer)
        const second = await new Stage(agent, start, settings).read()
        checkRun(second.events)
        const started = new Set(first.callIds('tool-start'))
        const answered = new Set(first.callIds('tool-end'))
        for (const id of second.callIds('tool-start')) expect(started.has(id), `call ${id} starts once`).toBe(false)
        for (const id of second.callIds('tool-end')) expect(answered.has(id), `call ${id} is answered once`).toBe(false)
        expect(second.events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'complete' })
      },
    },
    {
      name: 'leaves no listener behind',
      run: async () => {
        const { signal } = new AbortController()
        const stage = await play(make(), { signal }).read()
        expectNoListeners(signal)
        if (stage.ctx) expectNoListeners(stage.ctx.signal)
      },
    },
    {
      name: 'does nothing in a run that was aborted before it began',
      run: async () => {
        const controller = new AbortController()
        controller.abort()
        const { events } = await play(make(), { signal: controller.signal }).read()
        expect(events.map(({ type }) => type)).toEqual(['run-start', 'run-end'])
      },
    },
    {
      name: 'ends at once, and once, when it is aborted after any event',
      run: async () => {
        const { length } = (await play(make()).read()).events
        for (let stop = 1; stop < length; stop++) {
          const controller = new AbortController()
          const stage = play(make(), { signal: controller.signal })
          const reading = stage.read((seen) => seen === stop && controller.abort())
          expect(await promptly(`a run aborted after event ${stop}`, reading)).toHaveProperty('value')
          stage.checkEnded()
          expectNoListeners(controller.signal)
        }
      },
    },
    {
      name: 'ends at once, and once, when its consumer leaves after any event; no tool starts after that',
      run: async () => {
        const { length } = (await play(make()).read()).events
        for (let stop = 1; stop < length; stop++) {
          const stage = play(make())
          expect(await promptly(`leaving after event ${stop}`, stage.leave(stop))).toHaveProperty('value')
          stage.checkEnded()
          const starts = stage.heard.filter(({ type }) => type === 'tool-start').length
          const shown = stage.events.filter(({ type }) => type === 'tool-start').length
          expect(starts, 'tools started').toBeLessThanOrEqual(shown)
        }
      },
    },
  ]
  return clauses
}

/** One run of an agent, seen by a consumer and by a callback. */
class Stage {
  readonly events: AgentEvent[] = []
  readonly heard: AgentEvent[] = []
  ctx: RunContext | undefined
  readonly #open = { run: 0, agent: 0 }
  readonly #run: AsyncIterable<AgentEvent>

  constructor(agent: Agent, input: AgentInput | ResumeInfo, settings: RunSettings) {
    const count = (component: 'run' | 'agent') => ({
      onStart: () => void this.#open[component]++,
      onEnd: () => void this.#open[component]--,
      onError: () => void this.#open[component]--,
    })
    const callback: Callback = {
      name: 'stage',
      run: { ...count('run'), onPart: (_info, event) => void this.heard.push(event) },
      agent: count('agent'),
    }
    this.#run = startRun(agent, input, {
      ...settings,
      callbacks: [...(settings.callbacks ?? []), callback],
      prepare: (ctx) => {
        this.ctx = settings.prepare?.(ctx) ?? ctx
        return this.ctx
      },
    })
  }

  async read(after?: (seen: number) => unknown): Promise<this> {
    for await (const event of this.#run.eventsWithoutThrowing()) {
      this.events.push(event)
      after?.(this.events.length)
    }
    return this
  }

  async leave(stop: number): Promise<void> {
    for await (const event of this.#run.eventsWithoutThrowing()) if (this.events.push(event) === stop) break
  }

  /** Everything that began has ended, whether or not it was read. */
  checkEnded(): void {
    expect(this.#open, 'spans left open').toEqual({ run: 0, agent: 0 })
    expect(this.heard.filter(({ type }) => type === 'run-end')).toHaveLength(1)
    expect(this.heard.at(-1)?.type).toBe('run-end')
  }

  ids(): string[] {
    return this.events.flatMap((event) => (event.type === 'message-end' ? [event.message.id] : []))
  }

  callIds(type: 'tool-start' | 'tool-end'): string[] {
    return this.events.flatMap((event) => (event.type === type ? [event.callId] : []))
  }

  /** What an interrupted run goes on with. */
  resumption(before: readonly Message[], answer: (interrupts: readonly Interrupt[]) => Answers): ResumeInfo {
    const messages = [...before]
    let interrupt: (AgentAction & { type: 'interrupt' }) | undefined
    for (const event of this.events) {
      const message = messageOf(event)
      if (message) messages.push(message)
      if (event.type === 'action' && event.action.type === 'interrupt') interrupt = event.action
    }
    if (!interrupt) throw new Error('expected a run that is interrupted, got none')
    return { messages, state: interrupt.state ?? null, answers: answer(interrupt.interrupts) }
  }

  kinds(): string[] {
    return this.events.map(({ type, agentName }) => `${agentName} ${type}`)
  }
}
