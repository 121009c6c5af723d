import type { AgentAction, Answers, Interrupt, InterruptRequest } from '../data/action.ts'
import type { CancelMode } from '../data/cancel.ts'
import type { Json } from '../data/json.ts'
import { got, isObject, KernelError } from '../data/kernel-error.ts'
import type { ThreadRef } from '../data/thread-ref.ts'
import type { Clock } from './clock.ts'
import type { State } from './state.ts'

/** A typed name for a context value. */
export interface ContextKey<in out T> {
  readonly name: string
  readonly '~type'?: T
}
const KEY = Symbol.for('troupe.contextKey')

/**
 * Makes a key.
 * Contract: identity is the object, not the name; make it once per module.
 * @example const LOCALE = contextKey<string>('locale')
 */
export function contextKey<T>(name: string): ContextKey<T> {
  if (typeof name !== 'string' || name === '') {
    throw new KernelError('CONTEXT_KEY_INVALID', `contextKey: expected a name, ${got(name)}`)
  }
  return Object.freeze({ name, [KEY]: true })
}

/** Contract: throws `CONTEXT_KEY_INVALID` for a value that `contextKey` did not make. */
export function checkContextKey(key: unknown): void {
  if (isObject(key) && KEY in key) return
  throw new KernelError('CONTEXT_KEY_INVALID', `context: expected a key made by contextKey(), ${got(key)}`)
}

/** The context that a run passes to everything in it. Contract: immutable, so derive a new one to change it; only the kernel implements it. */
export interface RunContext {
  readonly runId: string
  readonly agentName: string
  readonly runPath: readonly string[]
  /** The position in the run: `''`, `agent:1/tool:0:2`; unique in the run. */
  readonly step: string
  /** Owner and thread; generated in a standalone run. */
  readonly session: ThreadRef
  readonly state: State
  /** Contract: created on first use; aborts on cancel, on timeout and when the consumer leaves. */
  readonly signal: AbortSignal
  /** Contract: throws the error of the abort, if there was one; does not create the signal. */
  throwIfAborted(): void
  /** A soft cancel: an agent checks it between steps and throws `ABORTED`, which ends it as `cancelled`. */
  readonly cancelling: CancelMode | undefined
  /** Contract: `<runId>/<step>` and a counter per step, so that parallel branches do not race for numbers. */
  readonly ids: Ids
  readonly clock: Clock
  /** 0 in a root run, one more in each nested run. */
  readonly depth: number
  /** The calls around a nested run, by id; '' in a root run. Contract: the same when the outer call runs again in a resumed run. */
  readonly origin: string

  get<T>(key: ContextKey<T>): T | undefined
  with<T>(key: ContextKey<T>, value: NoInfer<T>): RunContext
  /** Derives a context for one agent, branch or call. */
  derive(patch: ContextPatch): RunContext

  /** Writes a `custom` event. Contract: await what it returns, if anything. */
  emit(name: string, data: Json): void | Promise<void>
  /** Does what must not differ when the run goes on after a crash: a read, the time, chance. Contract: under a journal its value, which is JSON, or its error is kept, and what the work does to the state is not; otherwise it is `work()`. */
  perform<T extends Json | void>(name: string, work: () => Promise<T>): Promise<T>
  /** Contract: works only inside a tool call; carried out when every call of the turn has settled. */
  sendAction(action: AgentAction): void
  /** Whether this tool call has sent an action or asked a question so far; if so, its result must not be cached. */
  readonly acted: boolean
  /** Whether the run can wait for an answer; false in a run without a session. */
  readonly canInterrupt: boolean
  /** Asks a person. Contract: rejects with `INTERRUPTED` the first time and is recorded, so that catching it changes nothing; on resume the call starts again and gets the answer here. */
  interrupt<T extends Json = Json>(request: InterruptRequest): Promise<T>
}

/** Generates the ids of a run. */
export interface Ids {
  next(): string
  /** Contract: keeps a provider's call id if it is unique in the thread as far as this run knows, otherwise replaces it. */
  call(callId: string): string
}

/** The fields that a derived context overrides. */
export interface ContextPatch {
  readonly agentName?: string
  readonly runPath?: readonly string[]
  /** Appended to the step. */
  readonly step?: string
  readonly signal?: AbortSignal
  readonly call?: CallScope
  /** Who asks questions here, beyond the agent and the call: `<handler>/<hook>`. An answer reaches only the one who asked. */
  readonly asker?: string
  /** The iteration of the loop that the agent runs in, from 0: its `agent-start` and `agent-end` have it. */
  readonly iteration?: number
  /** An overlay for a parallel branch. */
  readonly state?: State
}

/** The scope of one tool call, or of the hooks of an agent: the answers it gets, and its actions and questions. */
export interface CallScope {
  /** Contract: unique in the thread and the same on resume, because interrupt ids and nested runs are named after it; a scope without one runs no agents. */
  readonly callId?: string
  readonly answers?: Answers
  /** The value that an interrupted attempt passed to `onInterrupt` for its nested runs. */
  readonly saved?: Json
  /** Contract: without it, actions are refused. */
  onAction?(action: AgentAction): void
  onInterrupt(interrupts: readonly Interrupt[], saved?: Json): void
}
