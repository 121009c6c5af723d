import type {
  Answers,
  EventDraft,
  EventStamp,
  InvokeTool,
  Journal,
  Json,
  Message,
  RunContext,
  Sink,
  StreamTool,
  ToolCall,
} from '@troupe/kernel'
import type { JsonSchemaValidator } from '@troupe/kernel/kit'
import type { Toolbox } from './toolbox.ts'

/** The state with which an interrupted call runs again. */
export type ParkedCall = {
  /** The name of its tool. */
  readonly name: string
  readonly started: boolean
  /** Whether a person was asked if it may run. */
  readonly approval: boolean
  readonly key: string
  /** How often a person was asked what became of it. */
  readonly outcomesAsked?: number
  readonly saved?: Json
}

/** The state of a turn that was interrupted. */
export interface InterruptedTurn {
  /** Calls that are answered already, or await their results from outside. */
  readonly skip: ReadonlySet<string>
  /** Whether one of them awaits its result. */
  readonly besideOpen: boolean
  readonly answers: Answers
  readonly parked: { readonly [callId: string]: ParkedCall }
}

/** The calls of one turn and what they run with. */
export interface TurnInput {
  readonly ctx: RunContext
  readonly stamp: EventStamp
  readonly sink: Sink<EventDraft>
  readonly turn: number
  /** All calls of the message: their positions are part of the steps. */
  readonly calls: readonly ToolCall[]
  readonly toolbox: Toolbox
  /** The history of the agent, with the message that makes the calls. */
  readonly messages: readonly Message[]
  readonly invokeTool: InvokeTool
  readonly streamTool: StreamTool
  /** Whether any handler wraps tool calls. */
  readonly wrapsTools: boolean
  readonly validator: JsonSchemaValidator
  readonly journal: Journal | undefined
  readonly concurrency: number
  readonly callOptions: { readonly [name: string]: Json } | undefined
  /** Set if the turn continues after an interrupt. */
  readonly interrupted: InterruptedTurn | undefined
}
