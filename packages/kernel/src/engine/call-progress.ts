import type { CallScope } from '../context/context.ts'
import type { AgentAction, Answers, Interrupt, InterruptRequest } from '../data/action.ts'
import { checkAction } from '../data/check-action.ts'
import { fingerprint } from '../data/fingerprint.ts'
import { type Json, type JsonObject, notJson } from '../data/json.ts'
import { got, isObject, KernelError } from '../data/kernel-error.ts'

/** The scope of a call, or of an agent outside its calls. */
type ProgressScope = Partial<CallScope> & Pick<CallScope, 'onInterrupt'>

/** What one call, or one agent outside its calls, has asked, sent and run so far. */
export class CallProgress {
  readonly callId: string | undefined
  readonly origin: string
  readonly answers: Answers
  readonly #scope: ProgressScope
  readonly #saved: JsonObject
  #runs: Record<string, Json> | undefined
  /** How often each question was asked. */
  #asked: Map<string, number> | undefined
  #sent = false
  #nested = 0
  #active = 0
  #idle: PromiseWithResolvers<void> | undefined

  constructor(scope: ProgressScope, origin: string) {
    this.callId = scope.callId
    this.origin = origin
    this.answers = scope.answers ?? NOTHING
    this.#scope = scope
    this.#saved = isObject(scope.saved) ? (scope.saved as JsonObject) : NOTHING
  }

  sendAction(action: AgentAction): void {
    if (!this.#scope.onAction) throw onlyInCall('sendAction')
    checkAction(action)
    this.#scope.onAction(action)
    this.#sent = true
  }

  get acted(): boolean {
    return this.#sent || this.#asked !== undefined
  }

  /** Returns the answer if there is one; otherwise records the question and throws. */
  async interrupt(
    request: InterruptRequest,
    { agentName, asker }: { readonly agentName: string; readonly asker: string },
    canInterrupt: boolean,
  ): Promise<Json> {
    checkRequest(request)
    const { reason, message, responseSchema, metadata, key } = request
    const print = fingerprint([agentName, asker, reason, message, responseSchema, metadata, key])
    this.#asked ??= new Map()
    const times = (this.#asked.get(print) ?? 0) + 1
    this.#asked.set(print, times)
    const id = `${this.origin}#${print}${times === 1 ? '' : `.${times}`}`
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
    // Runs that this attempt has not reached keep what they had.
    const saved = { ...this.#saved, ...this.#runs }
    this.#scope.onInterrupt(interrupts, Object.keys(saved).length > 0 || this.#nested > 0 ? saved : undefined)
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

function checkRequest(request: InterruptRequest): void {
  const fine = isObject(request) && typeof request.reason === 'string' && notJson(request) === undefined
  if (fine && (request.key === undefined || typeof request.key === 'string')) return
  throw new KernelError(
    'VALIDATION_FAILED',
    `interrupt: expected plain JSON with a reason, and a text as its key if it has one, ${got(request)}`,
  )
}

/** The error for a method that works only inside a tool call. */
export function onlyInCall(what: string): KernelError {
  return new KernelError(
    'CONFIG_INVALID',
    `${what}: works only inside a tool call; in an agent, yield an event instead`,
  )
}
