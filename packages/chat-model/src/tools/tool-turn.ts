import type {
  AgentAction,
  Answers,
  EventDraft,
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
  readonly sink: Sink<EventDraft>
  readonly turn: number
  /** All calls of the message, to know positions; those in `skip` are answered already. */
  readonly calls: readonly ToolCall[]
  readonly skip?: ReadonlySet<string>
  readonly toolbox: Toolbox
  readonly chain: HandlerChain
  readonly validator: JsonSchemaValidator
  readonly concurrency: number
  readonly callOptions: { readonly [name: string]: Json } | undefined
  readonly answers?: Answers
  readonly parked?: { readonly [callId: string]: ParkedCall }
}

/** What a turn came to, once every call has settled. */
export interface TurnOutcome {
  /** In listed order. */
  readonly results: readonly ToolMessage[]
  readonly interrupts: readonly Interrupt[]
  readonly parked: { readonly [callId: string]: ParkedCall }
  readonly actions: readonly AgentAction[]
  readonly direct: boolean
  /** What ends the run. */
  readonly failure: KernelError | undefined
}

/** Runs the calls of a turn. Contract: approval is asked for all before any starts; they start in listed order and all settle. */
export async function runTurn(input: TurnInput): Promise<TurnOutcome> {
  const { toolbox, skip, concurrency } = input
  const waiting = input.calls.map((call, index) => ({ call, index })).filter(({ call }) => !skip?.has(call.id))
  const opens = waiting.some(({ call }) => toolbox.get(call.name)?.tool.longRunning)
  const calls = waiting.map(({ call, index }) => new RunningCall(input, call, index, opens))
  for (const call of calls) if (call.mayNeedApproval) await call.askApproval()
  const [only] = calls
  if (only && calls.length === 1) {
    await only.announce()
    await only.run()
  } else await pool(calls, concurrency)
  for (const call of calls) if (call.direct) await call.tellEnd()
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
  const actions: AgentAction[] = []
  for (const call of calls) {
    const message = call.message()
    if (message) results.push(message)
    if (call.interrupts.length > 0) parked[call.id] = call.parked()
    interrupts.push(...call.interrupts)
    actions.push(...call.actions)
  }
  const direct = calls.some((call) => call.direct)
  return { results, interrupts, parked, actions, direct, failure: calls.find((call) => call.failure)?.failure }
}

const RANKS: Record<AgentAction['type'], number> = {
  custom: 0,
  interrupt: 0,
  'break-loop': 1,
  'transfer-to-agent': 2,
  exit: 3,
}

/** The action that steers: exit before transfer before break-loop, and of one kind the last. */
export function steering(actions: readonly AgentAction[]): AgentAction | undefined {
  let chosen: AgentAction | undefined
  for (const action of actions) {
    if (RANKS[action.type] > 0 && RANKS[action.type] >= RANKS[chosen?.type ?? 'custom']) chosen = action
  }
  return chosen
}
