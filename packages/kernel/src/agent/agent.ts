import { type ContextKey, contextKey, type RunContext } from '../context/context.ts'
import type { Answers } from '../data/action.ts'
import type { EventDraft } from '../data/event.ts'
import type { Json } from '../data/json.ts'
import type { Message } from '../data/message.ts'
import type { ModelOptions } from './model.ts'
import type { ToolMeta } from './tool.ts'

/** Turns messages into events. Contract: stateless between runs; an error that it throws becomes one `error` event. */
export interface Agent<Output = unknown> {
  readonly name: string
  readonly description: string
  /** Takes `AgentInput.additions`. */
  readonly acceptsAdditions?: true
  /** A wrapper that observes what it runs (FlowAgent). Contract: its stream is passed on as it is, so no agent run is counted twice. */
  readonly observesItself?: true
  /** Its model and tool calls are steps of the run's journal, as those of `chatModelAgent`. Contract: the run of any other agent is one step: if it broke off, it runs again from its start, unless it keeps its effects by `ctx.perform`. */
  readonly recordsSteps?: true
  readonly '~output'?: Output
  /** Contract: yields its own events; `observe` adds stamps, `agent-start`, state deltas and exactly one `agent-end`. */
  run(input: AgentInput, ctx: RunContext): AsyncIterable<EventDraft>
  /** Continues after an `interrupt` action of this agent. Contract: emits no second `tool-start` and repeats no finished call. */
  resume?(info: ResumeInfo, ctx: RunContext): AsyncIterable<EventDraft>
  /** Checks a state before answers are taken for it. Contract: throws `CHECKPOINT_INVALID` for a state that `resume` cannot go on from. */
  checkState?(state: Json): void
}

/** The input of an agent. */
export interface AgentInput {
  readonly messages: readonly Message[]
  readonly additions?: Additions
  readonly options?: RunOptions
}

/** Additions of other components to an agent for one run. Contract: an added tool whose name is taken is left out; on a transfer tools travel along, the instruction stays. */
export interface Additions {
  readonly instruction?: string
  readonly tools?: readonly ToolMeta[]
}

/** Options that a caller may set for one run. */
export type RunOptions = {
  /** Options for agents of these names; they come before those for all agents. */
  readonly agents?: { readonly [name: string]: Omit<RunOptions, 'agents'> }
  readonly model?: ModelOptions
  /** `ToolCallInput.callOptions` by tool name. */
  readonly tools?: { readonly [name: string]: Json }
  readonly maxIterations?: number
}

/** The input with which an interrupted agent resumes. Contract: `messages` is the history with every result so far, so `state` holds only what history does not; unanswered interrupts are raised again. */
export interface ResumeInfo extends AgentInput {
  readonly state: Json
  readonly answers: Answers
}

/** Gives the messages that the agent of a context has so far, for tools that pass them on. */
export const HISTORY: ContextKey<() => readonly Message[]> = contextKey<() => readonly Message[]>('troupe.history')
