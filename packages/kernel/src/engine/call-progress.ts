import type { AgentAction, Answers, Interrupt, InterruptRequest } from '../data/action.ts'
import { type Json, type JsonObject, notJson } from '../data/json.ts'
import { got, isObject, KernelError } from '../data/kernel-error.ts'

/** The source of a scope: the CallScope of a call, or the observed agent. */
export interface ScopeSource {
  readonly callId?: string
  readonly answers?: Answers
  readonly saved?: Json
  onAction?(action: AgentAction): void
  onInterrupt(interrupts: readonly Interrupt[], saved?: Json): void
}

/** Counts and remembers the questions and nested runs of one call, or of one agent outside its calls. */
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

  /** Returns the answer if there is one; otherwise records the question and throws. */
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

  /** Records open questions once the other nested runs of the call are done; returns the error that ends the call. */
  async raise(interrupts: readonly Interrupt[], canInterrupt: boolean): Promise<KernelError> {
    if (!canInterrupt) {
      return new KernelError(
        'CONFIG_INVALID',
        'interrupt: this run cannot wait for an answer; start it through a Runner with a session',
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

  /** Counts a nested run; returns its number in the call and the attempt saved before. */
  beginNested(): { readonly number: number; readonly saved: Json | undefined } {
    this.#active++
    const number = ++this.#nested
    return { number, saved: this.#saved[number] }
  }

  /** Saves the attempt for a call that runs again. */
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

/** Contract: throws `EVENT_INVALID` for a value that is not an action. */
export function checkAction(action: AgentAction): void {
  if (!isObject(action) || !ACTIONS.has(action.type)) {
    const types = [...ACTIONS].join(', ')
    throw new KernelError(
      'EVENT_INVALID',
      `action: the type must be one of ${types}, ${got(isObject(action) ? action.type : action)}`,
    )
  }
  checkMembers(action)
}

/** Contract: throws `EVENT_INVALID` for a transfer without a target, and for data that is not JSON. */
function checkMembers(action: AgentAction): void {
  if (action.type === 'transfer-to-agent' && typeof action.agentName !== 'string') {
    throw new KernelError(
      'EVENT_INVALID',
      `action: a transfer needs the agentName of its target, ${got(action.agentName)}`,
    )
  }
  const value = action.type === 'exit' ? action.result : action.type === 'custom' ? action.data : undefined
  const broken = value === undefined ? undefined : notJson(value)
  if (broken === undefined) return
  const where = broken === '' ? 'it' : broken
  throw new KernelError(
    'EVENT_INVALID',
    `action: what ${action.type} carries must be JSON, but ${where} is not, ${got(value)}`,
  )
}

/** The error for a method that works only inside a tool call. */
export function onlyInCall(what: string): KernelError {
  return new KernelError(
    'CONFIG_INVALID',
    `${what}: works only inside a tool call; in an agent, yield an event instead`,
  )
}
