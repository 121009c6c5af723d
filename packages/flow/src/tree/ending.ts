import {
  type ActionEvent,
  type Agent,
  type AgentAction,
  type AgentEnd,
  type AgentEvent,
  type Answers,
  type EventStamp,
  type Interrupt,
  type Json,
  KernelError,
  type RunContext,
  type Sink,
} from '@troupe/kernel'
import { isSaidBy } from '@troupe/kernel/run'
import type { SessionLog } from '../session.ts'

/** What decides who speaks next. */
export type Steering = Extract<AgentAction, { readonly type: 'transfer-to-agent' | 'exit' | 'break-loop' }>

/** Where something waits for answers or for results from outside, and how it goes on. */
export interface Suspended {
  /** Empty if only results are awaited. */
  readonly interrupts: readonly Interrupt[]
  readonly state: Json
}

/** What brings something suspended back. */
export interface Resumption {
  readonly state: Json
  readonly answers: Answers
}

/** How somebody's turn to speak ended. */
export interface Ending {
  readonly end?: AgentEnd | undefined
  readonly action?: Steering | undefined
  readonly suspended?: Suspended | undefined
}

/** Hears one agent: hands on what it tells, records it, and knows how it ended. Its questions are held back until those who stand around it know where they go on. */
export class Listener implements Sink<AgentEvent> {
  readonly #stamp: Pick<EventStamp, 'runId' | 'agentName' | 'runPath'>
  readonly #sink: Sink<AgentEvent>
  readonly #session: SessionLog
  /** Whether the agents inside are heard by others. */
  readonly #ownOnly: boolean
  /** Whether it says of itself that it observes what it runs, so that all it tells is its own. */
  readonly #all: boolean
  end: AgentEnd | undefined
  action: Steering | undefined
  asked: Extract<AgentAction, { type: 'interrupt' }> | undefined

  constructor(ctx: RunContext, agent: Agent, sink: Sink<AgentEvent>, session: SessionLog, ownOnly: boolean) {
    this.#stamp = { runId: ctx.runId, agentName: agent.name, runPath: ctx.runPath }
    this.#all = agent.observesItself ?? false
    this.#sink = sink
    this.#session = session
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
      this.#session.record(event)
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

/** Contract: a soft cancel is obeyed between two agents; an abort the kernel sees to. */
export function throwIfCancelled(ctx: RunContext): void {
  if (ctx.cancelling) throw new KernelError('ABORTED', `run ${ctx.runId}: cancelled before the next agent`)
}
