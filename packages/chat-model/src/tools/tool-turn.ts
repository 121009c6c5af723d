import type {
  AgentAction,
  Answers,
  EventDraft,
  EventStamp,
  Interrupt,
  Json,
  KernelError,
  RunContext,
  Sink,
  ToolCall,
  ToolMessage,
} from '@troupe/kernel'
import type { JsonSchemaValidator } from '@troupe/kernel/kit'
import type { HandlerChain } from '../handlers/handler-chain.ts'
import type { KeptAction } from './kept-action.ts'
import { RunningCall } from './running-call.ts'
import type { Toolbox } from './toolbox.ts'

/** The state with which an interrupted call runs again. */
export type ParkedCall = {
  readonly started: boolean
  /** Whether its first question was for approval. */
  readonly approval: boolean
  readonly key: string
  readonly saved?: Json
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
  readonly chain: HandlerChain
  readonly validator: JsonSchemaValidator
  readonly concurrency: number
  readonly callOptions: { readonly [name: string]: Json } | undefined
  /** Set if the turn continues after an interrupt. */
  readonly interrupted: InterruptedTurn | undefined
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

/** The outcome of a turn, once every call has settled. */
export interface TurnOutcome {
  /** In listed order. */
  readonly results: readonly ToolMessage[]
  readonly interrupts: readonly Interrupt[]
  readonly parked: { readonly [callId: string]: ParkedCall }
  /** Actions that are written as events and decide nothing. */
  readonly customActions: readonly AgentAction[]
  /** The actions of answered calls, by call id. */
  readonly keptActions: ReadonlyMap<string, KeptAction> | undefined
  /** The error that ends the run. */
  readonly failure: KernelError | undefined
}

/** Runs the calls of a turn. Contract: asks for all approvals before any call starts; calls start in listed order and all settle. */
export async function runTurn(input: TurnInput): Promise<TurnOutcome> {
  const { toolbox, concurrency, interrupted } = input
  const { skip, besideOpen = false } = interrupted ?? {}
  const opens = besideOpen || input.calls.some(({ id, name }) => !skip?.has(id) && toolbox.get(name)?.tool.longRunning)
  const calls: RunningCall[] = []
  input.calls.forEach((call, index) => {
    if (!skip?.has(call.id)) calls.push(new RunningCall(input, call, index, opens))
  })
  for (const call of calls) if (call.mayNeedApproval) await call.askApproval()
  const [only] = calls
  if (only && calls.length === 1) {
    const wait = only.announce()
    if (wait) await wait
    await only.run()
  } else await pool(calls, concurrency)
  const unsettled = besideOpen || calls.some((call) => !call.answered)
  for (const call of calls) if (call.keptAction && !call.direct) await call.writeEnd(unsettled)
  for (const call of calls) if (call.direct) await call.writeEnd(unsettled)
  return outcomeOf(calls)
}

/** Starts as many calls as allowed in one tick, once all of these are announced; each further call starts when one has ended. */
async function pool(calls: readonly RunningCall[], concurrency: number): Promise<void> {
  const first = calls.slice(0, concurrency)
  await Promise.all(first.map((call) => call.announce()))
  let next = first.length
  await Promise.all(
    first.map(async (call) => {
      await call.run()
      while (next < calls.length) {
        const follower = calls[next++] as RunningCall
        await follower.announce()
        await follower.run()
      }
    }),
  )
}

function outcomeOf(calls: readonly RunningCall[]): TurnOutcome {
  const results: ToolMessage[] = []
  const interrupts: Interrupt[] = []
  const parked: Record<string, ParkedCall> = {}
  const customActions: AgentAction[] = []
  let keptActions: Map<string, KeptAction> | undefined
  for (const call of calls) {
    const message = call.message()
    if (message) results.push(message)
    const { callId: id, keptAction } = call
    if (keptAction) {
      keptActions ??= new Map()
      keptActions.set(id, keptAction)
    }
    // An interrupted call runs again and sends its actions again.
    if (call.interrupts.length === 0) customActions.push(...call.customActions)
    else parked[id] = call.parked()
    interrupts.push(...call.interrupts)
  }
  return {
    results,
    interrupts,
    parked,
    customActions,
    keptActions,
    failure: calls.find((call) => call.failure)?.failure,
  }
}
