import type { Agent, AgentAction, AgentEvent, EventOf, EventStamp, RunContext, Sink } from '@troupe/kernel'
import { isSaidBy } from '@troupe/kernel/run'
import type { ThreadLog } from '../thread-log.ts'
import type { Steering } from './flow-outcome.ts'

/** Passes on and records the events of one agent, and keeps how it ended. Contract: its questions are held back until the agents around it have added their state. */
export class AgentRecorder implements Sink<AgentEvent> {
  readonly #stamp: Pick<EventStamp, 'runId' | 'agentName' | 'runPath'>
  readonly #sink: Sink<AgentEvent>
  readonly #log: ThreadLog
  /** Whether nested agents have recorders of their own. */
  readonly #ownOnly: boolean
  /** Whether the agent observes the agents it runs, so that all of its events count as its own. */
  readonly #all: boolean
  end: EventOf<'agent-end'> | undefined
  action: Steering | undefined
  asked: Extract<AgentAction, { type: 'interrupt' }> | undefined

  constructor(ctx: RunContext, agent: Agent, sink: Sink<AgentEvent>, log: ThreadLog, ownOnly: boolean) {
    this.#stamp = { runId: ctx.runId, agentName: agent.name, runPath: ctx.runPath }
    this.#all = agent.observesItself ?? false
    this.#sink = sink
    this.#log = log
    this.#ownOnly = ownOnly
  }

  get closed(): boolean {
    return this.#sink.closed ?? false
  }

  write(event: AgentEvent): void | Promise<void> {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-call-delta':
      case 'tool-delta':
        return this.#sink.write(event)
    }
    if (event.runId === this.#stamp.runId && (!this.#ownOnly || isSaidBy(event, this.#stamp))) {
      const own = this.#all || isSaidBy(event, this.#stamp)
      if (own && event.type === 'action' && event.action.type === 'interrupt') return this.#hold(event)
      this.#log.record(event)
      if (own) this.#keep(event)
    } else this.#nested(event)
    return this.#sink.write(event)
  }

  #keep(event: AgentEvent): void {
    if (event.type === 'agent-end') this.end = event
    if (event.type === 'action' && event.action.type !== 'custom') this.action = event.action as Steering
  }

  /** Contract: a nested run has the state of this one. */
  #nested(event: AgentEvent): void {
    if (event.type === 'state-delta' && !this.#ownOnly) this.#log.changed(event)
  }

  #hold({ action }: EventOf<'action'>): void {
    if (action.type !== 'interrupt') return
    const interrupts = [...(this.asked?.interrupts ?? []), ...action.interrupts]
    const callIds = [...(this.asked?.callIds ?? []), ...(action.callIds ?? [])]
    this.asked = { ...this.asked, ...action, interrupts, ...(callIds.length > 0 && { callIds }) }
  }
}
