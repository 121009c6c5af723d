import type { AgentAction, Answers, Interrupt, InterruptRequest } from '../data/action.ts'
import { got, isObject, KernelError } from '../data/error.ts'
import { type Json, type JsonObject, notJson } from '../data/json.ts'

/** What a scope is made of: the CallScope of a call, or what `observe` gives an agent. */
export interface ScopeSource {
  readonly callId?: string
  readonly answers?: Answers
  readonly saved?: Json
  onAction?(action: AgentAction): void
  onInterrupt(interrupts: readonly Interrupt[], saved?: Json): void
}

/** Where questions and nested runs of one call, or of one agent outside its calls, are counted and remembered. */
export class Scope {
  readonly callId: string | undefined
  readonly origin: string
  readonly answers: Answers
  readonly #source: ScopeSource
  readonly #saved: JsonObject
  #runs: Record<string, Json> | undefined
  #asked = 0
  #sent = false
  #nested = 0
  #active = 0
  #idle: PromiseWithResolvers<void> | undefined

  constructor(source: ScopeSource, origin: string) {
    this.callId = source.callId
    this.origin = origin
    this.answers = source.answers ?? NOTHING
    this.#source = source
    this.#saved = isObject(source.saved) ? (source.saved as JsonObject) : NOTHING
  }

  sendAction(action: AgentAction): void {
    if (!this.#source.onAction) throw onlyInCall('sendAction')
    checkAction(action)
    this.#source.onAction(action)
    this.#sent = true
  }

  get acted(): boolean {
    return this.#sent || this.#asked > 0
  }

  /** The answer if there is one; else the question is recorded and the call ends. */
  async interrupt(request: InterruptRequest, agentName: string, canInterrupt: boolean): Promise<Json> {
    if (!isObject(request) || typeof request.reason !== 'string' || notJson(request) !== undefined) {
      throw new KernelError('VALIDATION_FAILED', `interrupt: expected plain JSON with a reason, ${got(request)}`)
    }
    const id = `${this.origin}#${++this.#asked}`
    const answer = Object.hasOwn(this.answers, id) ? this.answers[id] : undefined
    if (answer !== undefined) return answer
    const { callId } = this
    throw await this.raise([{ ...request, id, agentName, ...(callId !== undefined && { callId }) }], canInterrupt)
  }

  /** Records open questions once the nested runs beside them are done; gives the error that ends the call. */
  async raise(interrupts: readonly Interrupt[], canInterrupt: boolean): Promise<KernelError> {
    if (!canInterrupt) {
      return new KernelError(
        'CONFIG_INVALID',
        'interrupt: nobody can answer in this run; run it through a Runner, with a session',
      )
    }
    if (this.#active > 0) {
      this.#idle ??= Promise.withResolvers<void>()
      await this.#idle.promise
    }
    this.#source.onInterrupt(interrupts, this.#nested > 0 ? { ...this.#runs } : undefined)
    const interruptIds = interrupts.map(({ id }) => id)
    return new KernelError('INTERRUPTED', `interrupt: waiting for an answer to ${interruptIds.join(', ')}`, {
      details: { interruptIds },
    })
  }

  /** Counts a nested run; gives its number in the call and what an earlier attempt saved of it. */
  beginNested(): { readonly number: number; readonly saved: Json | undefined } {
    this.#active++
    const number = ++this.#nested
    return { number, saved: this.#saved[number] }
  }

  /** What a repeated call finds of this nested run. */
  endNested(number: number, saved?: Json): void {
    if (saved !== undefined) {
      this.#runs ??= {}
      this.#runs[number] = saved
    }
    if (--this.#active > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }
}

const NOTHING: JsonObject = {}

const ACTIONS: ReadonlySet<AgentAction['type']> = new Set([
  'transfer-to-agent',
  'exit',
  'interrupt',
  'break-loop',
  'custom',
])

/** Contract: throws `EVENT_INVALID` for what is no action. */
export function checkAction(action: AgentAction): void {
  if (isObject(action) && ACTIONS.has(action.type)) return
  const types = [...ACTIONS].join(', ')
  throw new KernelError(
    'EVENT_INVALID',
    `action: the type is one of ${types}, ${got(isObject(action) ? action.type : action)}`,
  )
}

/** Names what stands inside a tool call only. */
export function onlyInCall(what: string): KernelError {
  return new KernelError('CONFIG_INVALID', `${what}: works inside a tool call only; an agent yields an event instead`)
}
