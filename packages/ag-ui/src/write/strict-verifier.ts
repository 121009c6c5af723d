import { EventType } from '@ag-ui/core'
import { type Json, KernelError } from '@troupe/kernel'
import { checkOptionNames, got } from '@troupe/kernel/kit'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import { equal } from '../translate/json-patch.ts'
import { applyPatch } from './apply-patch.ts'
import { OpenEntities } from './open-entities.ts'

/** Checks a whole stream. Contract: throws `AG_UI_STREAM_INVALID` at the first event that a correct stream never shows. */
export interface StrictVerifier {
  see(event: AgUiEvent): void
  /** Contract: throws where the terminal is missing. */
  end(): void
}

/** The options of a verifier. */
export interface StrictVerifierOptions {
  /** The messages that the client had before the run. */
  readonly messages?: readonly AgUiMessage[]
}

/**
 * Makes a verifier that is stricter than the clients: one terminal and nothing open before it, one result for each
 * known call, calls without one named as pending, patches that apply, and snapshots that equal the sum of the events before.
 * @example
 * const verifier = strictVerifier()
 * for await (const event of agUiAgent.run(input)) verifier.see(event)
 * verifier.end()
 */
export function strictVerifier(options: StrictVerifierOptions = {}): StrictVerifier {
  checkOptionNames('strictVerifier', options, { messages: true })
  return new Verifier(options)
}

class Verifier implements StrictVerifier {
  readonly #open: OpenEntities = new OpenEntities()
  /** By id: the text streamed so far. */
  readonly #texts: Map<string, string> = new Map()
  readonly #activities: Map<string, Json> = new Map()
  readonly #pastCalls: Set<string> = new Set()
  /** Calls of this run without a result. */
  readonly #waiting: Set<string> = new Set()
  readonly #known: Set<string> = new Set()
  #state: Json | undefined
  #phase: 'before' | 'running' | 'ended' = 'before'

  constructor({ messages = [] }: StrictVerifierOptions) {
    for (const id of callsOf(messages)) this.#pastCalls.add(id)
  }

  see(event: AgUiEvent): void {
    if (this.#phase === 'ended') throw invalid(event, 'the run has ended')
    if (event.type === EventType.RUN_STARTED) this.#start(event)
    else if (event.type === EventType.RUN_ERROR || event.type === EventType.RUN_FINISHED) this.#finish(event)
    else {
      if (this.#phase === 'before') throw invalid(event, 'the run has not started')
      const reason = this.#open.take(event)
      if (reason !== undefined) throw invalid(event, reason)
      this.#follow(event)
    }
  }

  end(): void {
    if (this.#phase !== 'ended') throw new KernelError('AG_UI_STREAM_INVALID', 'stream: ended without a terminal')
  }

  #start(event: AgUiEvent): void {
    if (this.#phase === 'running') throw invalid(event, 'the run has already started')
    this.#phase = 'running'
  }

  #finish(event: Extract<AgUiEvent, { type: EventType.RUN_FINISHED | EventType.RUN_ERROR }>): void {
    const [open] = this.#open.close(event)
    if (open) throw invalid(event, `${open.type} is missing`)
    if (event.type === EventType.RUN_FINISHED) {
      if (this.#phase === 'before') throw invalid(event, 'the run has not started')
      if (event.outcome?.type === 'success') this.#checkPending(event, event.outcome.pendingToolCallIds ?? [])
    }
    this.#phase = 'ended'
  }

  /** Checks the pending calls: clients take every call without a result for pending. */
  #checkPending(event: AgUiEvent, pending: readonly string[]): void {
    for (const id of pending) {
      if (!this.#waiting.has(id) && !this.#pastCalls.has(id)) throw invalid(event, `call ${id} is not open`)
    }
    const lost = [...this.#waiting].find((id) => !pending.includes(id))
    if (lost !== undefined) throw invalid(event, `call ${lost} has no result and is not pending`)
  }

  #follow(event: AgUiEvent): void {
    switch (event.type) {
      case EventType.TEXT_MESSAGE_START:
        this.#texts.set(event.messageId, this.#texts.get(event.messageId) ?? '')
        return
      case EventType.TEXT_MESSAGE_CONTENT:
        if (event.delta === '') throw invalid(event, 'the delta is empty')
        this.#texts.set(event.messageId, (this.#texts.get(event.messageId) ?? '') + event.delta)
        return
      case EventType.TOOL_CALL_START:
        if (this.#known.has(event.toolCallId)) throw invalid(event, `call ${event.toolCallId} has already begun`)
        this.#known.add(event.toolCallId)
        this.#waiting.add(event.toolCallId)
        return
      case EventType.TOOL_CALL_RESULT: {
        const { toolCallId } = event
        if (!this.#known.has(toolCallId) && !this.#pastCalls.has(toolCallId)) {
          throw invalid(event, `there is no call ${toolCallId}`)
        }
        this.#waiting.delete(toolCallId)
        return
      }
      case EventType.STATE_SNAPSHOT:
        if (this.#state !== undefined && !equal(this.#state, event.snapshot)) {
          throw invalid(event, 'the snapshot differs from the sum of the deltas')
        }
        this.#state = event.snapshot
        return
      case EventType.STATE_DELTA:
        if (this.#state === undefined) throw invalid(event, 'there is no snapshot before it')
        this.#state = applyPatch(this.#state, event.delta)
        return
      case EventType.ACTIVITY_SNAPSHOT:
        this.#activities.set(event.messageId, event.content)
        return
      case EventType.ACTIVITY_DELTA:
        this.#activities.set(event.messageId, applyPatch(this.#activities.get(event.messageId) ?? null, event.patch))
        return
      case EventType.MESSAGES_SNAPSHOT:
        this.#checkMessages(event)
    }
  }

  /** Checks a snapshot: it has the streamed text of open messages, because they continue after it. */
  #checkMessages(event: Extract<AgUiEvent, { type: EventType.MESSAGES_SNAPSHOT }>): void {
    const { messages } = event
    const ids = new Set(messages.map(({ id }) => id))
    if (ids.size < messages.length) throw invalid(event, 'two messages have the same id')
    for (const id of this.#open.texts()) {
      const message = messages.find((candidate) => candidate.id === id)
      if (message?.content !== this.#texts.get(id)) throw invalid(event, `message ${id} differs from its streamed text`)
    }
    for (const id of callsOf(messages)) if (!this.#known.has(id)) this.#pastCalls.add(id)
  }
}

function callsOf(messages: readonly AgUiMessage[]): readonly string[] {
  return messages
    .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    .map(({ id }) => id)
}

function invalid(event: AgUiEvent, why: string): KernelError {
  return new KernelError('AG_UI_STREAM_INVALID', `${event.type}: ${why}, ${got(JSON.stringify(event))}`)
}
