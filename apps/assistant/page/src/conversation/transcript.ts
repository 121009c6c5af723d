import { type BaseEvent, EventType, type Message } from '@ag-ui/client'
import type { CallItem, Item, NoteItem, TextItem } from './items.ts'

/** The fields of events that a transcript reads. */
interface TranscriptEvent extends BaseEvent {
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

type AssistantMessage = Extract<Message, { role: 'assistant' }>

/**
 * The items on the page, made of events alone, so that a run looks the same while it streams, after a reload and in the history.
 * Contract: items change in place; the conversation notifies the page.
 */
export class Transcript {
  readonly items: Item[] = []
  readonly calls = new Map<string, CallItem>()
  readonly #userMessages = new Set<string>()
  readonly #texts = new Map<string, TextItem>()
  /** The items of each sub-agent, by its run. */
  readonly #inside = new Map<string, Item[]>()
  /** The agent that is active in each run. */
  readonly #agents = new Map<string, string>()
  #runId = ''

  /** Whether neither a text nor a call is in progress, so that nothing on the page shows that the run continues. */
  get isQuiet(): boolean {
    const last = this.items.at(-1)
    if (last?.kind === 'text') return last.done
    return last?.kind !== 'call' || last.status !== 'running'
  }

  /** Whether a call waits for an answer. */
  get isWaiting(): boolean {
    return [...this.calls.values()].some(({ status }) => status === 'waiting')
  }

  /** The first message of the user. */
  get title(): string | undefined {
    return this.items.find((item) => item.kind === 'user')?.text
  }

  /** Adds a message of the user, once. */
  addUserMessage(id: string, text: string): void {
    if (this.#userMessages.has(id)) return
    this.#userMessages.add(id)
    this.items.push({ kind: 'user', id, text })
  }

  /** Adds the messages of a run that has no events. */
  addMessages(runId: string, messages: readonly Message[]): void {
    this.#runId = runId
    for (const message of messages) {
      if (message.role === 'assistant') this.#addAnswer(message)
      if (message.role === 'tool') this.#setResult(message.toolCallId, message.content, undefined)
    }
  }

  addEvent(event: BaseEvent): void {
    const seen = event as TranscriptEvent
    const scope = seen.subagentRunId ?? ''
    switch (event.type) {
      case EventType.RUN_STARTED:
        this.#startRun(seen)
        break
      case EventType.STEP_STARTED:
        this.#agents.set(scope, seen.stepName ?? '')
        break
      case EventType.SUBAGENT_STARTED:
        this.#startSubAgent(scope, seen.parentToolCallId)
        break
      case EventType.TEXT_MESSAGE_START:
      case EventType.TEXT_MESSAGE_CONTENT:
      case EventType.TEXT_MESSAGE_END:
      case EventType.REASONING_MESSAGE_CONTENT:
        this.#addText(seen, scope)
        break
      case EventType.TOOL_CALL_START:
        this.#call(seen.toolCallId ?? '', seen.toolCallName ?? '', scope)
        break
      case EventType.TOOL_CALL_ARGS:
        this.#addArguments(seen)
        break
      case EventType.TOOL_CALL_RESULT:
        this.#setResult(seen.toolCallId ?? '', seen.content, seen.metadata)
        break
      case EventType.MESSAGES_SNAPSHOT:
        this.#correct(seen.messages ?? [])
        break
      case EventType.RUN_FINISHED:
        this.#endRun(seen)
        break
      case EventType.RUN_ERROR:
        this.#endRun(seen)
        this.addNote(seen.message ?? 'The run failed.', 'bad')
        break
      case EventType.CUSTOM:
        if (seen.name === 'run-continued') this.addNote('The server was stopped here. The run went on.', 'quiet')
        if (seen.name === 'tool-delta') this.#addProgress(seen.value)
        break
    }
  }

  /** Adds the result that this page gave to a call. Contract: only a call that waits gets it. */
  addResult(callId: string, text: string): void {
    if (this.calls.get(callId)?.status === 'waiting') this.#setResult(callId, text, undefined)
  }

  addNote(text: string, tone: NoteItem['tone']): void {
    this.items.push({ kind: 'note', id: `${this.#runId}:note:${this.items.length}`, text, tone })
  }

  /** Ends every text and call that is in progress. */
  close(): void {
    for (const text of this.#texts.values()) text.done = true
    for (const call of this.calls.values()) if (call.status === 'running') call.status = 'stopped'
  }

  #startRun({ runId, input }: TranscriptEvent): void {
    this.#runId = runId ?? ''
    for (const message of input?.messages ?? []) {
      if (message.role === 'user') this.addUserMessage(message.id, textOf(message.content))
    }
  }

  #endRun({ outcome }: TranscriptEvent): void {
    const pending = new Set(outcome?.pendingToolCallIds)
    for (const call of this.calls.values()) {
      const waits = outcome?.type === 'interrupt' || pending.has(call.id)
      if (call.status === 'running' && waits) call.status = 'waiting'
    }
    this.close()
    if (outcome?.type === 'cancelled') this.addNote('Stopped.', 'quiet')
  }

  #startSubAgent(scope: string, parentCallId = ''): void {
    const call = this.calls.get(parentCallId)
    if (!call) return
    call.inside ??= []
    this.#inside.set(scope, call.inside)
  }

  #addAnswer({ id, name, content, toolCalls = [], metadata }: AssistantMessage): void {
    this.#agents.set('', name ?? 'Agent')
    if (typeof content === 'string' && content !== '') {
      Object.assign(this.#text(id, '', name), { text: content, done: true })
    }
    if (metadata?.partial) this.addNote('The answer was cut off.', 'quiet')
    for (const { id: callId, function: call } of toolCalls) this.#call(callId, call.name, '').args = call.arguments
  }

  #addText({ type, messageId = '', delta = '', name }: TranscriptEvent, scope: string): void {
    const [id = ''] = messageId.split(':reasoning')
    const item = this.#text(id, scope, name)
    if (type === EventType.TEXT_MESSAGE_CONTENT) item.text += delta
    if (type === EventType.REASONING_MESSAGE_CONTENT) item.thought += delta
    if (type === EventType.TEXT_MESSAGE_END) item.done = true
  }

  #addProgress(value: unknown): void {
    const { toolCallId = '', delta } = value as { readonly toolCallId?: string; readonly delta?: unknown }
    const call = this.calls.get(toolCallId)
    if (!call || typeof delta !== 'string') return
    call.progress = (call.progress ?? '') + delta
    // A call that has waited for an answer does not begin again.
    if (call.status === 'waiting') call.status = 'running'
  }

  #addArguments({ toolCallId = '', delta = '' }: TranscriptEvent): void {
    const call = this.calls.get(toolCallId)
    if (call) call.args += delta
  }

  #setResult(callId: string, content: unknown, metadata: TranscriptEvent['metadata']): void {
    const call = this.calls.get(callId)
    if (!call) return
    call.result = textOf(content)
    call.data = metadata?.data
    call.status = metadata?.error ? 'failed' : 'done'
  }

  /** Applies a snapshot, which is the history: removes the items of this run that the history does not have. */
  #correct(messages: readonly Message[]): void {
    const texts = new Map(messages.map((message) => [message.id, message.content]))
    const calls = new Map(
      messages.flatMap((message) =>
        message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => [call.id, call.function.arguments]) : [],
      ) as [string, string][],
    )
    for (let i = this.items.length - 1; i >= 0; i--) {
      const item = this.items[i] as Item
      if ((item.kind !== 'text' && item.kind !== 'call') || item.runId !== this.#runId) continue
      const stored = item.kind === 'text' ? texts.get(item.id) : calls.get(item.id)
      if (stored === undefined) this.items.splice(i, 1)
      else if (item.kind === 'text') item.text = textOf(stored)
      else item.args = String(stored)
    }
  }

  #text(id: string, scope: string, agent?: string): TextItem {
    let item = this.#texts.get(id)
    if (!item) {
      const name = agent ?? this.#agents.get(scope) ?? 'Agent'
      item = { kind: 'text', id, runId: this.#runId, agent: name, text: '', thought: '', done: false }
      this.#texts.set(id, item)
      this.#itemsOf(scope).push(item)
    }
    return item
  }

  #call(id: string, name: string, scope: string): CallItem {
    const known = this.calls.get(id)
    if (known) {
      known.args = ''
      return known
    }
    const agent = this.#agents.get(scope) ?? 'Agent'
    const call: CallItem = { kind: 'call', id, runId: this.#runId, agent, name, args: '', status: 'running' }
    this.calls.set(id, call)
    this.#itemsOf(scope).push(call)
    return call
  }

  #itemsOf(scope: string): Item[] {
    return this.#inside.get(scope) ?? this.items
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: { text?: unknown }) => (typeof part?.text === 'string' ? part.text : '')).join('')
}
