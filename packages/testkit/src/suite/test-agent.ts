import type { Agent, AgentInput, Answers, Interrupt } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import type { RunSettings } from '@troupe/kernel/run'
import { type Clause, register } from '../clause.ts'
import { demand, demandEqual, shown } from '../fault.ts'
import { AgentStage } from './agent-stage.ts'
import { checkAgents, checkTransfers } from './check-agents.ts'
import { checkMessages, checkPartial, checkRun, checkToolCalls } from './check-run.ts'
import { demandNoListeners } from './listeners.ts'
import { madeBy } from './made-by.ts'
import { demandJson, demandName, frozen, promptly } from './patience.ts'
import { resumption } from './resumption.ts'

/** Options of `testAgent`: the input of the runs, their settings and answers. */
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

export function agentClauses(factory: () => Agent, options: TestAgentOptions = {}): readonly Clause[] {
  const make = () => madeBy(factory, 'agent')
  const input = options.input ?? { messages: [{ id: 'u1', role: 'user', content: 'Hello' }] }
  const start = (agent: Agent, settings: RunSettings = {}) =>
    new AgentStage(agent, { ...input, messages: frozen(input.messages.slice()) }, { ...options.settings, ...settings })
  const clauses: Clause[] = [
    {
      name: 'has a name and a description',
      todo: 'Describe the agent in a sentence: other agents read it before they transfer.',
      run: async () => {
        const { name, description } = make()
        demandName(name, 'agent')
        demand(typeof description === 'string', `The agent has no description: got ${shown(description)}`)
      },
    },
    {
      name: 'a run on untouchable input is well formed and does not fail',
      todo: 'Mend what the error says. If it needs another input or values in the context, give `input` or `settings` to testAgent.',
      run: async () => {
        const stage = await start(make()).read()
        checkRun(stage.events)
        stage.demandSuccess()
      },
    },
    {
      name: 'every event is plain JSON and says where it comes from',
      todo: 'Yield drafts and let `observe` stamp them; an agent that says `observesItself` passes on what `observe` gave it.',
      run: async () => {
        for (const event of (await start(make()).read()).events) {
          demandJson(event, `The event ${event.type}`)
          const stamped =
            typeof event.runId === 'string' && typeof event.agentName === 'string' && Array.isArray(event.runPath)
          demand(stamped, `The event ${event.type} has no runId, agentName or runPath: ${shown(event)}`)
        }
      },
    },
    {
      name: 'each message begins, grows and ends once',
      todo: 'Yield message-start, the deltas and one message-end under one id of `ctx.ids.next()`; `say(ctx, text)` does all three.',
      run: async () => checkMessages((await start(make()).read()).events),
    },
    {
      name: 'each tool call is answered exactly once',
      todo: 'For each call in the `toolCalls` of a message yield one tool-start and one tool-end under the id of the call.',
      run: async () => checkToolCalls((await start(make()).read()).events),
    },
    {
      name: 'an agent shows its events between its start and its end, and its path names the agents that led to it',
      todo: 'Run each inner agent through `observe(agent, input, ctx.derive({ step, runPath }))`, with the path of the agents that led to it.',
      run: async () => checkAgents((await start(make()).read()).events),
    },
    {
      name: 'an agent that transfers ends before the next one starts',
      todo: 'Read the agent that transfers to its end before you run the one it names.',
      run: async () => checkTransfers((await start(make()).read()).events),
    },
    {
      name: 'two runs at once do not mix',
      todo: 'Take message ids from `ctx.ids.next()`, and keep what belongs to a run in variables of `run`, not in the agent.',
      run: async () => {
        const agent = make()
        const [first, second] = await Promise.all([start(agent).read(), start(agent).read()])
        for (const { events } of [first, second]) {
          checkRun(events)
          checkMessages(events)
        }
        const shared = first.ids().filter((id) => second.ids().includes(id))
        demand(shared.length === 0, `Two runs gave their messages the same id: ${shared.join(', ')}`)
      },
    },
    {
      name: 'a second run does not build on the first',
      todo: 'Keep nothing in the agent between runs: what belongs to a run is in its context, what belongs to a thread in `ctx.state`.',
      run: async () => {
        const agent = make()
        const first = await start(agent).read()
        const second = await start(agent).read()
        demandEqual(second.kinds(), first.kinds(), 'On the same input the second run of one agent went another way')
      },
    },
    {
      name: 'takes additions without harm, if it says that it takes them',
      todo: 'Use `input.additions` (instruction, tools), or do not say `acceptsAdditions`.',
      run: async () => {
        const agent = make()
        if (!agent.acceptsAdditions) return 'the agent does not say that it accepts additions'
        const tool = {
          name: 'added',
          description: '',
          parameters: { type: 'object' },
          kind: 'think',
          invoke: () => '',
        } as const
        const additions = { instruction: 'Be kind.', tools: [{ tool, returnDirectly: false }] }
        const stage = await new AgentStage(agent, { ...input, additions }, { ...options.settings }).read()
        checkRun(stage.events)
        stage.demandSuccess()
      },
    },
    {
      name: 'resumed with answers, it announces no call again and repeats none that was answered',
      todo: 'In `resume` yield only what is new: the results of calls that were open, and what follows.',
      run: async () => {
        if (!options.answer) return 'testAgent was given no `answer`'
        const agent = make()
        const settings = { canInterrupt: true, ...options.settings }
        const first = await new AgentStage(agent, input, settings).read()
        const start = resumption('testAgent', input.messages, first.events, options.answer)
        const second = await new AgentStage(agent, start, settings).read()
        checkRun(second.events)
        const started = new Set(first.callIds('tool-start'))
        const answered = new Set(first.callIds('tool-end'))
        for (const id of second.callIds('tool-start')) {
          demand(!started.has(id), `The resumed run announces call ${id} again (tool-start)`)
        }
        for (const id of second.callIds('tool-end')) {
          demand(!answered.has(id), `The resumed run answers call ${id} again (tool-end)`)
        }
        second.demandSuccess(['complete'])
      },
    },
    {
      name: 'leaves no listener behind',
      todo: 'Remove each listener in a `finally`.',
      run: async () => {
        const { signal } = new AbortController()
        const stage = await start(make(), { signal }).read()
        await demandNoListeners(signal, 'The run')
        if (stage.ctx) await demandNoListeners(stage.ctx.signal, 'The agent')
      },
    },
    {
      name: 'does nothing in a run that was aborted before it began',
      todo: 'Start nothing in the constructor or before the first `yield` that does not look at `ctx.signal`.',
      run: async () => {
        const controller = new AbortController()
        controller.abort()
        const { events } = await start(make(), { signal: controller.signal }).read()
        const types = events.map(({ type }) => type)
        demandEqual(types, ['run-start', 'run-end'], 'A run that was aborted before it began shows other events')
      },
    },
    {
      name: 'ends at once, and once, when it is aborted after any event',
      todo: 'Give `ctx.signal` to everything that takes time, and wait for nothing in a `finally` that an abort does not end.',
      run: async () => {
        const { length } = (await start(make()).read()).events
        for (let stop = 1; stop < length; stop++) {
          const controller = new AbortController()
          const stage = start(make(), { signal: controller.signal })
          const reading = stage.read((seen) => seen === stop && controller.abort())
          const outcome = await promptly(`The run was aborted after event ${stop} and did not end`, reading)
          if ('error' in outcome) throw outcome.error
          stage.demandEnded(`aborted after event ${stop}`)
          checkPartial(stage.events)
          await demandNoListeners(controller.signal, 'An aborted run')
        }
      },
    },
    {
      name: 'ends at once, and once, when its consumer leaves after any event; no tool starts after that',
      todo: 'Give `ctx.signal` to everything that takes time, wait for nothing in a `finally` that an abort does not end, and start a tool only after its tool-start was taken.',
      run: async () => {
        const { length } = (await start(make()).read()).events
        for (let stop = 1; stop < length; stop++) {
          const stage = start(make())
          const outcome = await promptly(
            `The consumer left after event ${stop}, and the run did not end`,
            stage.leave(stop),
          )
          if ('error' in outcome) throw outcome.error
          stage.demandEnded(`left by its consumer after event ${stop}`)
          const starts = stage.heard.filter(({ type }) => type === 'tool-start').length
          const seen = stage.events.filter(({ type }) => type === 'tool-start').length
          demand(starts <= seen, `The consumer left after event ${stop}, and ${starts - seen} more tools started`)
        }
      },
    },
  ]
  return clauses
}
