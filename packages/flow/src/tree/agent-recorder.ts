import type {
  ActionEvent,
  Agent,
  AgentAction,
  AgentEnd,
  AgentEvent,
  EventStamp,
  RunContext,
  Sink,
} from '@troupe/kernel'
import { isSaidBy } from '@troupe/kernel/run'
import type { ThreadLog } from '../thread-log.ts'
import type { Steering } from './flow-outcome.ts'

/** Hears one agent: hands on what it tells, records it, and knows how it ended. Its questions are held back until those who stand around it know where they go on. */
export class AgentRecorder implements Sink<AgentEvent> {
  readonly #stamp: Pick<EventStamp, 'runId' | 'agentName' | 'runPath'>
  readonly #sink: Sink<AgentEvent>
  readonly #log: ThreadLog
  /** Whether the agents inside are heard by others. */
  readonly #ownOnly: boolean
  /** Whether it says of itself that it observes what it runs, so that all it tells is its own. */
  readonly #all: boolean
  end: AgentEnd | undefined
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
      if (own && event.type === 'agent-end') this.end = event
      if (own && event.type === 'action' && event.action.type !== 'custom') this.action = event.action as Steering
    }
    return this.#sink.write(event)
  }

  #hold({ action }: ActionEvent): void {
    if (action.type !== 'interrupt') return
    const interrupts = [...(this.asked?.interrupts ?? []), ...action.interrupts]
    this.asked = { ...this.asked, ...action, interrupts }
  }
}
