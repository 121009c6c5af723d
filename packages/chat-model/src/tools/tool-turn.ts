import type {
  AgentAction,
  Answers,
  EventDraft,
  EventStamp,
  Interrupt,
  Json,
  JsonSchemaValidator,
  KernelError,
  RunContext,
  Sink,
  ToolCall,
  ToolMessage,
} from '@troupe/kernel'
import type { HandlerChain } from '../handlers/handler-chain.ts'
import { RunningCall } from './running-call.ts'
import type { Toolbox } from './toolbox.ts'
import type { Wish } from './wish.ts'

/** What an interrupted call needs to run again. */
export type ParkedCall = {
  readonly started: boolean
  /** Its first question was whether it may run. */
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
  /** All calls of the message, to know positions. */
  readonly calls: readonly ToolCall[]
  readonly toolbox: Toolbox
  readonly chain: HandlerChain
  readonly validator: JsonSchemaValidator
  readonly concurrency: number
  readonly callOptions: { readonly [name: string]: Json } | undefined
  /** Set where the turn goes on after an interrupt. */
  readonly kept: KeptTurn | undefined
}

/** What a turn was before it was interrupted. */
export interface KeptTurn {
  /** Those that are answered already, or await their results from outside. */
  readonly skip: ReadonlySet<string>
  /** Whether one of them awaits its result. */
  readonly besideOpen: boolean
  readonly answers: Answers
  readonly parked: { readonly [callId: string]: ParkedCall }
}

/** What a turn came to, once every call has settled. */
export interface TurnOutcome {
  /** In listed order. */
  readonly results: readonly ToolMessage[]
  readonly interrupts: readonly Interrupt[]
  readonly parked: { readonly [callId: string]: ParkedCall }
  /** Actions that are shown and decide nothing. */
  readonly customs: readonly AgentAction[]
  /** What those that were answered ask for, by call id. */
  readonly wishes: ReadonlyMap<string, Wish> | undefined
  /** What ends the run. */
  readonly failure: KernelError | undefined
}

/** Runs the calls of a turn. Contract: approval is asked for all before any starts; they start in listed order and all settle. */
export async function runTurn(input: TurnInput): Promise<TurnOutcome> {
  const { toolbox, concurrency, kept } = input
  const { skip, besideOpen = false } = kept ?? {}
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
  for (const call of calls) if (call.wish && !call.direct) await call.tellEnd(unsettled)
  for (const call of calls) if (call.direct) await call.tellEnd(unsettled)
  return outcomeOf(calls)
}

/** Those that fit start in one tick, once all of them are announced; the others follow as places become free. */
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
  const customs: AgentAction[] = []
  let wishes: Map<string, Wish> | undefined
  for (const call of calls) {
    const message = call.message()
    if (message) results.push(message)
    const { callId: id, wish } = call
    if (wish) {
      wishes ??= new Map()
      wishes.set(id, wish)
    }
    // One that asks runs again, and acts again.
    if (call.interrupts.length === 0) customs.push(...call.customs)
    else parked[id] = call.parked()
    interrupts.push(...call.interrupts)
  }
  return { results, interrupts, parked, customs, wishes, failure: calls.find((call) => call.failure)?.failure }
}
