import { type BaseEvent, EventType, type Message } from '@ag-ui/client'
import type { CallItem, Item, NoteItem, SpeechItem } from './items.ts'

/** The parts of events that a transcript is made of. */
interface Shown extends BaseEvent {
  readonly runId?: string
  readonly messageId?: string
  readonly delta?: string
  readonly name?: string
  readonly stepName?: string
  readonly toolCallId?: string
  readonly toolCallName?: string
  readonly content?: unknown
  readonly subagentRunId?: string
  readonly parentToolCallId?: string
  readonly messages?: readonly Message[]
  readonly input?: { readonly messages?: readonly Message[] }
  readonly outcome?: { readonly type: string; readonly pendingToolCallIds?: readonly string[] }
  readonly message?: string
  readonly metadata?: { readonly data?: unknown; readonly error?: unknown }
}

/**
 * What is on the page: made of events alone, so that a run looks the same live, joined in the middle and read again years later.
 * Contract: items change in place; whoever shows them is told by the conversation.
 */
export class Transcript {
  readonly items: Item[] = []
  readonly calls = new Map<string, CallItem>()
  readonly #known = new Set<string>()
  readonly #speeches = new Map<string, SpeechItem>()
  /** Where the words of a sub-agent go. */
  readonly #inside = new Map<string, Item[]>()
  readonly #speakers = new Map<string, string>()
  #runId = ''

  /** Whether nobody speaks and no call is at work, so that nothing shows that more is to come. */
  get isQuiet(): boolean {
    const last = this.items.at(-1)
    if (last?.kind === 'speech') return last.done
    return last?.kind !== 'call' || last.status !== 'running'
  }

  /** Whether a call has neither a result nor an end. */
  get isWaiting(): boolean {
    return [...this.calls.values()].some(({ status }) => status === 'waiting')
  }

  /** The first words of the user. */
  get title(): string | undefined {
    return this.items.find((item) => item.kind === 'user')?.text
  }

  /** Adds what the user said, once. */
  said(id: string, text: string): void {
    if (this.#known.has(id)) return
    this.#known.add(id)
    this.items.push({ kind: 'user', id, text })
  }

  /** Adds messages of a run that left no events. */
  heard(runId: string, messages: readonly Message[]): void {
    this.#runId = runId
    for (const message of messages) {
      if (message.role === 'assistant') {
        this.#speakers.set('', message.name ?? 'Agent')
        if (typeof message.content === 'string' && message.content !== '') {
          Object.assign(this.#speech(message.id, '', message.name), { text: message.content, done: true })
        }
        for (const { id, function: call } of message.toolCalls ?? [])
          this.#call(id, call.name, '').args = call.arguments
      }
      if (message.role === 'tool') this.#answered(message.toolCallId, message.content, undefined)
    }
  }

  see(event: BaseEvent): void {
    const seen = event as Shown
    const scope = seen.subagentRunId ?? ''
    switch (event.type) {
      case EventType.RUN_STARTED:
        this.#runId = seen.runId ?? ''
        for (const message of seen.input?.messages ?? []) {
          if (message.role === 'user') this.said(message.id, textOf(message.content))
        }
        return
      case EventType.STEP_STARTED:
        this.#speakers.set(scope, seen.stepName ?? '')
        return
      case EventType.SUBAGENT_STARTED: {
        const call = this.calls.get(seen.parentToolCallId ?? '')
        if (!call) return
        call.inside ??= []
        this.#inside.set(scope, call.inside)
        return
      }
      case EventType.TEXT_MESSAGE_START:
        this.#speech(seen.messageId ?? '', scope, seen.name)
        return
      case EventType.TEXT_MESSAGE_CONTENT:
        this.#speech(seen.messageId ?? '', scope).text += seen.delta ?? ''
        return
      case EventType.TEXT_MESSAGE_END:
        this.#speech(seen.messageId ?? '', scope).done = true
        return
      case EventType.REASONING_MESSAGE_CONTENT:
        this.#speech((seen.messageId ?? '').split(':reasoning')[0] as string, scope).thought += seen.delta ?? ''
        return
      case EventType.TOOL_CALL_START:
        this.#call(seen.toolCallId ?? '', seen.toolCallName ?? '', scope)
        return
      case EventType.TOOL_CALL_ARGS: {
        const call = this.calls.get(seen.toolCallId ?? '')
        if (call) call.args += seen.delta ?? ''
        return
      }
      case EventType.TOOL_CALL_RESULT:
        this.#answered(seen.toolCallId ?? '', seen.content, seen.metadata)
        return
      case EventType.MESSAGES_SNAPSHOT:
        this.#corrected(seen.messages ?? [])
        return
      case EventType.RUN_FINISHED:
        this.#ended(seen)
        return
      case EventType.RUN_ERROR:
        this.#ended(seen)
        this.note(seen.message ?? 'The run failed.', 'bad')
    }
  }

  /** What this page told an agent that waited for it. Contract: a call that waits for nothing keeps its result. */
  answered(callId: string, text: string): void {
    if (this.calls.get(callId)?.status === 'waiting') this.#answered(callId, text, undefined)
  }

  note(text: string, tone: NoteItem['tone']): void {
    this.items.push({ kind: 'note', id: `${this.#runId}:note:${this.items.length}`, text, tone })
  }

  #list(scope: string): Item[] {
    return this.#inside.get(scope) ?? this.items
  }

  #speech(id: string, scope: string, agent?: string): SpeechItem {
    let speech = this.#speeches.get(id)
    if (!speech) {
      const name = agent ?? this.#speakers.get(scope) ?? 'Agent'
      speech = { kind: 'speech', id, runId: this.#runId, agent: name, text: '', thought: '', done: false }
      this.#speeches.set(id, speech)
      this.#list(scope).push(speech)
    }
    return speech
  }

  #call(id: string, name: string, scope: string): CallItem {
    const known = this.calls.get(id)
    if (known) {
      known.args = ''
      return known
    }
    const agent = this.#speakers.get(scope) ?? 'Agent'
    const call: CallItem = { kind: 'call', id, runId: this.#runId, agent, name, args: '', status: 'running' }
    this.calls.set(id, call)
    this.#list(scope).push(call)
    return call
  }

  #answered(callId: string, content: unknown, metadata: Shown['metadata']): void {
    const call = this.calls.get(callId)
    if (!call) return
    call.result = textOf(content)
    call.data = metadata?.data
    call.status = metadata?.error ? 'failed' : 'done'
  }

  /** A snapshot is what stands in history: what this run has shown beyond it is taken back. */
  #corrected(messages: readonly Message[]): void {
    const texts = new Map(messages.map((message) => [message.id, message.content]))
    const calls = new Map(
      messages.flatMap((message) =>
        message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => [call.id, call.function.arguments]) : [],
      ) as [string, string][],
    )
    for (let i = this.items.length - 1; i >= 0; i--) {
      const item = this.items[i] as Item
      if ((item.kind !== 'speech' && item.kind !== 'call') || item.runId !== this.#runId) continue
      const stands = item.kind === 'speech' ? texts.get(item.id) : calls.get(item.id)
      if (stands === undefined) this.items.splice(i, 1)
      else if (item.kind === 'speech') item.text = textOf(stands)
      else item.args = String(stands)
    }
  }

  /** Nothing is under way any more, whatever the last event was. */
  close(): void {
    for (const speech of this.#speeches.values()) speech.done = true
    for (const call of this.calls.values()) if (call.status === 'running') call.status = 'stopped'
  }

  #ended({ outcome }: Shown): void {
    const pending = new Set(outcome?.pendingToolCallIds)
    for (const call of this.calls.values()) {
      const waits = outcome?.type === 'interrupt' || pending.has(call.id)
      if (call.status === 'running' && waits) call.status = 'waiting'
    }
    this.close()
    if (outcome?.type === 'cancelled') this.note('Stopped.', 'quiet')
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: { text?: unknown }) => (typeof part?.text === 'string' ? part.text : '')).join('')
}
