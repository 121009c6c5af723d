import {
  type Agent,
  type AgentEvent,
  type AgentInput,
  type Callback,
  KernelError,
  type ResumeInfo,
  type Run,
  type RunContext,
} from '@troupe/kernel'
import { type RunSettings, startRun } from '@troupe/kernel/run'
import { demand, demandEqual, errorText, Fault, MAKE_A_COPY, tellsOfFrozen } from '../fault.ts'

/** One run of an agent, seen by a consumer and by a callback. */
export class AgentStage {
  readonly events: AgentEvent[] = []
  readonly heard: AgentEvent[] = []
  ctx: RunContext | undefined
  readonly #open = { run: 0, agent: 0 }
  readonly #run: Run

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
  demandEnded(how: string): void {
    demandEqual({ ...this.#open }, { run: 0, agent: 0 }, `A run ${how} left spans open`)
    const ends = this.heard.filter(({ type }) => type === 'run-end').length
    demand(ends === 1, `A run ${how} has ${ends} run-end events, where exactly one is right`)
    const last = this.heard.at(-1)?.type
    demand(last === 'run-end', `A run ${how} shows ${last} after its run-end`)
  }

  demandSuccess(outcomes: readonly string[] = ['complete', 'interrupted']): void {
    const end = this.events.at(-1)
    if (end?.type === 'run-end' && outcomes.includes(end.outcome)) return
    const error = this.events.findLast(({ type }) => type === 'error')
    const because = error?.type === 'error' ? ` with ${errorText(KernelError.from(error.error))}` : ''
    const outcome = end?.type === 'run-end' ? end.outcome : `${end?.type}`
    const wrong = `The run ended as ${outcome}${because}, where ${outcomes.join(' or ')} is right`
    throw new Fault(wrong, tellsOfFrozen(because) ? MAKE_A_COPY : undefined)
  }

  ids(): string[] {
    return this.events.flatMap((event) => (event.type === 'message-end' ? [event.message.id] : []))
  }

  callIds(type: 'tool-start' | 'tool-end'): string[] {
    return this.events.flatMap((event) => (event.type === type ? [event.callId] : []))
  }

  kinds(): string[] {
    return this.events.map(({ type, agentName }) => `${agentName} ${type}`)
  }
}
