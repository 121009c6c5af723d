import { type BaseEvent, EventType, type Message } from '@ag-ui/client'
import { textOf } from './content.ts'
import { type CallDraft, type Draft, Drafts, type TextDraft, type UserDraft } from './drafts.ts'
import type { Attachment, CallItem, Item, NoteCode, NoteItem, UserContent, UserItem } from './item.ts'
import { userItem } from './user-item.ts'

/** The fields of events that a transcript reads. */
interface TranscriptEvent extends BaseEvent {
  readonly runId?: string
  readonly messageId?: string
  readonly delta?: string
  readonly name?: string
  readonly value?: unknown
  readonly stepName?: string
  readonly toolCallId?: string
  readonly toolCallName?: string
  readonly content?: unknown
  readonly activityType?: string
  readonly subagentRunId?: string
  readonly parentToolCallId?: string
  readonly messages?: readonly Message[]
  readonly input?: { readonly messages?: readonly Message[] }
  readonly outcome?: { readonly type: string; readonly pendingToolCallIds?: readonly string[] }
  readonly code?: string
  readonly message?: string
  readonly metadata?: { readonly data?: unknown; readonly error?: unknown }
}

type AssistantMessage = Extract<Message, { role: 'assistant' }>

/** The items of a conversation, made of events alone, so that a run looks the same while it streams, after a reload and in the history. */
export class Transcript {
  readonly #drafts = new Drafts()
  readonly #users = new Map<string, UserDraft>()
  readonly #texts = new Map<string, TextDraft>()
  readonly #calls = new Map<string, CallDraft>()
  /** The call around each sub-agent, by its run. */
  readonly #outer = new Map<string, CallDraft>()
  /** The agent that is active in each run. */
  readonly #agents = new Map<string, string>()
  #runId = ''
  #notes = 0

  get items(): readonly Item[] {
    return this.#drafts.items
  }

  /** Whether a call waits for an answer. */
  get isWaiting(): boolean {
    return [...this.#calls.values()].some(({ status }) => status === 'waiting')
  }

  call(id: string): Pick<CallItem, 'name' | 'args' | 'status'> | undefined {
    return this.#calls.get(id)
  }

  /** A message of the user; the last one without an id. */
  user(id: string | undefined): UserItem | undefined {
    return id === undefined ? this.#drafts.top.findLast((draft) => draft.kind === 'user') : this.#users.get(id)
  }

  /** Adds a message of the user, once. */
  addUserMessage(id: string, content: UserContent): void {
    if (this.#users.has(id)) return
    const user = userItem(id, content)
    this.#users.set(id, user)
    this.#drafts.add(user)
  }

  /** Gives a message of the user another content, and removes everything after it. */
  cutAfter(id: string, content?: UserContent): void {
    const user = this.#users.get(id)
    if (!user) return
    if (content !== undefined) {
      Object.assign(user, userItem(id, content))
      this.#drafts.touch(user)
    }
    const place = this.#drafts.top.indexOf(user)
    for (const draft of this.#drafts.top.slice(place + 1)) this.#forget(draft)
    this.#drafts.remove((_, i) => i > place)
  }

  /** Adds messages of a run that has no events, or of the history; those that are known stay as they are. */
  addMessages(runId: string, messages: readonly Message[]): void {
    this.#runId = runId
    for (const message of messages) this.#addMessage(message)
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
      case EventType.ACTIVITY_SNAPSHOT:
        if (seen.activityType === 'file') this.#addFile(seen.messageId ?? '', seen.content, scope)
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
      case EventType.RUN_ERROR:
        this.#endRun(seen)
        break
      case EventType.CUSTOM:
        if (seen.name === 'run-continued') this.addNote('went-on', 'quiet')
        if (seen.name === 'tool-delta') this.#addProgress(seen.value)
        break
    }
  }

  /** Adds the result that this page gave to a call. Contract: only a call that waits gets it. */
  addResult(callId: string, text: string, failed = false): void {
    const isWaiting = this.#calls.get(callId)?.status === 'waiting'
    if (isWaiting) this.#setResult(callId, text, failed ? { error: {} } : undefined)
  }

  addNote(code: NoteCode, tone: NoteItem['tone'], text?: string): void {
    const id = `${this.#runId}:note:${this.#notes++}`
    this.#drafts.add({ kind: 'note', id, code, tone, ...(text !== undefined && { text }) })
  }

  /** Says that these calls wait for an answer. */
  wait(callIds: readonly string[]): void {
    for (const id of callIds) this.#setStatus(this.#calls.get(id), 'waiting')
  }

  /** Ends every text and call that is in progress. */
  close(): void {
    for (const text of this.#texts.values()) {
      if (text.done) continue
      text.done = true
      this.#drafts.touch(text)
    }
    for (const call of this.#calls.values()) if (call.status === 'running') this.#setStatus(call, 'stopped')
  }

  #startRun({ runId, input }: TranscriptEvent): void {
    this.#runId = runId ?? ''
    for (const message of input?.messages ?? []) {
      if (message.role === 'user') this.addUserMessage(message.id, message.content)
    }
  }

  #endRun({ type, outcome, code, message }: TranscriptEvent): void {
    const pending = new Set(outcome?.pendingToolCallIds)
    for (const call of this.#calls.values()) {
      const waits = outcome?.type === 'interrupt' || pending.has(call.id)
      if (call.status === 'running' && waits) this.#setStatus(call, 'waiting')
    }
    this.close()
    if (outcome?.type === 'cancelled') this.addNote('stopped', 'quiet')
    if (type === EventType.RUN_ERROR) this.addNote(code ?? 'failed', 'bad', message)
  }

  #startSubAgent(scope: string, parentCallId = ''): void {
    const call = this.#calls.get(parentCallId)
    if (!call) return
    call.inside ??= []
    this.#outer.set(scope, call)
    this.#drafts.touch(call)
  }

  #addMessage(message: Message): void {
    switch (message.role) {
      case 'user':
        this.addUserMessage(message.id, message.content)
        break
      case 'assistant':
        this.#addAnswer(message)
        break
      case 'reasoning':
        this.#addThought(message.id, message.content)
        break
      case 'tool':
        this.#setResult(message.toolCallId, message.content, message.metadata)
        break
      case 'activity':
        if (message.activityType === 'file') this.#addFile(message.id, message.content, '')
        break
    }
  }

  #addAnswer({ id, name, content, toolCalls = [], metadata }: AssistantMessage): void {
    this.#agents.set('', name ?? 'Agent')
    const text = textOf(content)
    const known = this.#texts.get(id)
    if (known && name !== undefined) known.agent = name
    if (text !== '' && !known?.text) {
      const item = this.#text(id, '', name)
      Object.assign(item, { text, done: true })
      this.#drafts.touch(item)
      if (metadata?.partial) this.addNote('cut-off', 'quiet')
    }
    for (const { id: callId, function: call } of toolCalls) {
      if (this.#calls.has(callId)) continue
      // What is not answered in the history, and does not wait, never will be.
      Object.assign(this.#call(callId, call.name, ''), { args: call.arguments, status: 'stopped' })
    }
  }

  /** Adds reasoning of the history, which comes before its message or after it. */
  #addThought(messageId: string, thought: string): void {
    const [id = ''] = messageId.split(':reasoning')
    const item = this.#text(id, '')
    if (item.thought.includes(thought)) return
    Object.assign(item, { thought: item.thought + thought, done: true })
    this.#drafts.touch(item)
  }

  #addText({ type, messageId = '', delta = '', name }: TranscriptEvent, scope: string): void {
    const [id = ''] = messageId.split(':reasoning')
    const item = this.#text(id, scope, name)
    if (type === EventType.TEXT_MESSAGE_CONTENT) item.text += delta
    if (type === EventType.REASONING_MESSAGE_CONTENT) item.thought += delta
    if (type === EventType.TEXT_MESSAGE_END) item.done = true
    this.#drafts.touch(item)
  }

  #addFile(activityId: string, content: unknown, scope: string): void {
    const { mediaType, name, url, data } = (content ?? {}) as Record<string, unknown>
    const address = typeof data === 'string' ? `data:${String(mediaType)};base64,${data}` : url
    if (typeof mediaType !== 'string' || typeof address !== 'string') return
    const [id = ''] = activityId.split(':file:')
    const item = this.#text(id, scope)
    if (item.files.some((file) => file.url === address)) return
    const file: Attachment = { mediaType, url: address, ...(typeof name === 'string' && { name }) }
    item.files = [...item.files, file]
    this.#drafts.touch(item)
  }

  #addProgress(value: unknown): void {
    const { toolCallId = '', delta } = value as { readonly toolCallId?: string; readonly delta?: unknown }
    const call = this.#calls.get(toolCallId)
    if (!call || typeof delta !== 'string') return
    call.progress = (call.progress ?? '') + delta
    // A call that has waited for an answer does not begin again.
    if (call.status === 'waiting') call.status = 'running'
    this.#drafts.touch(call)
  }

  #addArguments({ toolCallId = '', delta = '' }: TranscriptEvent): void {
    const call = this.#calls.get(toolCallId)
    if (!call) return
    call.args += delta
    this.#drafts.touch(call)
  }

  #setResult(callId: string, content: unknown, metadata: TranscriptEvent['metadata']): void {
    const call = this.#calls.get(callId)
    if (!call) return
    call.result = textOf(content)
    call.data = metadata?.data
    this.#setStatus(call, metadata?.error ? 'failed' : 'done')
  }

  #setStatus(call: CallDraft | undefined, status: CallItem['status']): void {
    if (!call) return
    call.status = status
    this.#drafts.touch(call)
  }

  /** Applies a snapshot, which is the history: removes the items of this run that the history does not have. */
  #correct(messages: readonly Message[]): void {
    const texts = new Map(messages.map((message) => [message.id, message.content]))
    const calls = new Map(
      messages.flatMap((message) =>
        message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => [call.id, call.function.arguments]) : [],
      ) as [string, string][],
    )
    this.#drafts.remove((draft) => {
      if ((draft.kind !== 'text' && draft.kind !== 'call') || draft.runId !== this.#runId) return false
      if (!(draft.kind === 'text' ? texts : calls).has(draft.id)) {
        this.#forget(draft)
        return true
      }
      if (draft.kind === 'text') draft.text = textOf(texts.get(draft.id))
      else draft.args = calls.get(draft.id) ?? ''
      this.#drafts.touch(draft)
      return false
    })
  }

  /** Forgets a draft that is removed, so that it can come again. */
  #forget(draft: Draft): void {
    this.#users.delete(draft.id)
    this.#texts.delete(draft.id)
    this.#calls.delete(draft.id)
  }

  #text(id: string, scope: string, agent?: string): TextDraft {
    let item = this.#texts.get(id)
    if (!item) {
      const name = agent ?? this.#agents.get(scope) ?? 'Agent'
      item = { kind: 'text', id, runId: this.#runId, agent: name, text: '', thought: '', files: [], done: false }
      this.#texts.set(id, item)
      this.#drafts.add(item, this.#outer.get(scope))
    }
    return item
  }

  #call(id: string, name: string, scope: string): CallDraft {
    const known = this.#calls.get(id)
    if (known) {
      known.args = ''
      return known
    }
    const agent = this.#agents.get(scope) ?? 'Agent'
    const call: CallDraft = { kind: 'call', id, runId: this.#runId, agent, name, args: '', status: 'running' }
    this.#calls.set(id, call)
    this.#drafts.add(call, this.#outer.get(scope))
    return call
  }
}
