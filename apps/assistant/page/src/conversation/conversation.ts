import {
  type BaseEvent,
  EventType,
  type Interrupt,
  type ResumeEntry,
  type RunErrorEvent,
  type RunFinishedEvent,
} from '@ag-ui/client'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { CLIENT_TOOLS, runClientTool } from './client-tools.ts'
import { failureText } from './failure-text.ts'
import { type Edit, edited, type Shared } from './packing.ts'
import { cancelRun, continueRun, getHistory, getTokens, putState, type Tokens } from './server.ts'
import { Trace } from './trace.ts'
import { Transcript } from './transcript.ts'

/** Where an approval holds for later calls: in this conversation, or in all. */
export type Always = 'thread' | 'tool'

/** An answer to the question whether a call may run. */
export interface ApprovalAnswer {
  readonly approved: boolean
  readonly editedArgs?: object
  readonly always?: Always
}

/** The fields of an answered form, by name. */
export type FormAnswer = Readonly<Record<string, unknown>>

/** One conversation: the agent behind it, and everything that the page shows of it. */
export class Conversation {
  readonly threadId: string
  transcript: Transcript = new Transcript()
  trace: Trace = new Trace()
  events: BaseEvent[] = []
  tokens: Tokens = {}
  status: 'loading' | 'idle' | 'running' | 'stopping' = 'loading'
  /** The run that broke off because its server was killed, and that can be continued. */
  lostRunId: string | undefined
  readonly #agent: ResumableHttpAgent
  readonly #listeners = new Set<() => void>()
  readonly #answers = new Map<string, ResumeEntry>()
  #edits: readonly Edit[] = []
  #runId: string | undefined
  #pending: readonly string[] = []
  #closed = false
  #saved: Promise<void> = Promise.resolve()
  #version = 0
  #frame = 0

  constructor(threadId: string) {
    this.threadId = threadId
    this.#agent = new ResumableHttpAgent({ url: '/agent', threadId })
    this.#agent.subscribe({ onEvent: ({ event }) => this.#onEvent(event) })
  }

  /** Grows with each change; changes by agents are shown at most once per frame. */
  get version(): number {
    return this.#version
  }

  get isEmpty(): boolean {
    return this.transcript.items.length === 0
  }

  /** Questions without an answer. */
  get questions(): readonly Interrupt[] {
    return this.#agent.pendingInterrupts.filter(({ id }) => !this.#answers.has(id))
  }

  get shared(): Shared {
    return edited(this.#agent.state as Shared, this.#edits)
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Loads the history and joins the run that is active. */
  async open(): Promise<void> {
    try {
      const { running, runs } = await getHistory(this.threadId)
      if (this.#closed) return
      for (const run of runs) {
        for (const { id, text } of run.userMessages) this.transcript.addUserMessage(id, text)
        for (const { toolCallId, text } of run.results) this.transcript.addResult(toolCallId, text)
        this.transcript.addMessages(run.runId, run.messages)
        for (const event of run.events) this.#addEvent(event)
      }
      if (running !== undefined) this.status = 'running'
      this.#changed()
      if (running !== undefined) this.#loadTokens()
      if (runs.length > 0) await this.#agent.connectAgent({ tools: CLIENT_TOOLS })
      // The run ended between the two requests: load the history again.
      const missed = running !== undefined && !this.trace.runs.some(({ runId }) => runId === running)
      if (missed && !this.#closed) return await this.#reload()
    } catch (error) {
      this.#addFailure(error)
    }
    await this.#afterRun()
  }

  /** Closes the conversation on this page; its run continues. */
  close(): void {
    this.#closed = true
    void this.#agent.detachActiveRun()
  }

  send(text: string): Promise<void> {
    const id = crypto.randomUUID()
    this.#agent.addMessage({ id, role: 'user', content: text })
    this.transcript.addUserMessage(id, text)
    return this.#run()
  }

  /** Answers a question. Contract: the run continues after the last answer. */
  answer(interruptId: string, payload: ApprovalAnswer | FormAnswer): Promise<void> {
    return this.#settle({ interruptId, status: 'resolved', payload })
  }

  /** Closes a question without an answer. */
  dismiss(interruptId: string): Promise<void> {
    return this.#settle({ interruptId, status: 'cancelled' })
  }

  async #settle(entry: ResumeEntry): Promise<void> {
    this.#answers.set(entry.interruptId, entry)
    if (this.questions.length > 0) return this.#changed()
    await this.#run([...this.#answers.values()])
  }

  /** Cancels the run on the server; its end arrives as an event. */
  async stop(): Promise<void> {
    if (this.status !== 'running') return
    this.status = 'stopping'
    this.#changed()
    if (this.#runId !== undefined && (await cancelRun(this.threadId, this.#runId))) return
    this.#agent.abortRun()
    this.transcript.addNote('Stopped.', 'quiet')
  }

  /** Goes on with the run that broke off. */
  async continue(): Promise<void> {
    const runId = this.lostRunId
    if (runId === undefined || this.status !== 'idle') return
    this.status = 'running'
    this.lostRunId = undefined
    this.#changed()
    // If another page was faster, this one joins.
    await continueRun(this.threadId, runId).catch(ignore)
    await this.#reload()
  }

  /** Changes the shared list; during a run the change is applied again to the state that the run leaves. */
  edit(edit: Edit): void {
    this.#edits = [...this.#edits, edit]
    if (this.status === 'idle') {
      this.#applyEdits()
      this.#save()
    }
    // At once, so that a checkbox does not flicker.
    this.#notify()
  }

  async #reload(): Promise<void> {
    this.transcript = new Transcript()
    this.trace = new Trace()
    this.events = []
    this.#agent.setMessages([])
    await this.open()
  }

  async #run(resume?: ResumeEntry[]): Promise<void> {
    this.#applyEdits()
    this.#pending = []
    const runId = crypto.randomUUID()
    this.#runId = runId
    this.lostRunId = undefined
    this.status = 'running'
    this.#changed()
    try {
      // Saving holds the lease of the thread for a short time.
      await this.#saved
      await this.#agent.runAgent({ runId, tools: CLIENT_TOOLS, ...(resume && { resume }) })
      this.#answers.clear()
      // Another page has answered before: the history has the result.
      const isLate = resume && this.questions.length === 0 && this.#pending.length === 0 && this.transcript.isWaiting
      if (isLate && !this.#closed) return await this.#reload()
    } catch (error) {
      this.#answers.clear()
      this.#addFailure(error)
    }
    await this.#afterRun()
  }

  /** After a run: runs the tools of this page that it waits for. */
  async #afterRun(): Promise<void> {
    if (this.#closed) return
    this.status = 'idle'
    this.#runId = undefined
    this.transcript.close()
    if (this.#applyEdits() && this.#pending.length === 0) this.#save()
    this.#changed()
    this.#loadTokens()
    if (this.#pending.length === 0) return
    for (const toolCallId of this.#pending) {
      const call = this.transcript.calls.get(toolCallId)
      const content = runClientTool(call?.name ?? '', call?.args ?? '')
      this.#agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content })
      this.transcript.addResult(toolCallId, content)
    }
    await this.#run()
  }

  #loadTokens(): void {
    getTokens(this.threadId).then((tokens) => {
      this.tokens = tokens
      this.#changed()
    }, ignore)
  }

  #onEvent(event: BaseEvent): void {
    if (this.#closed) return
    if (event.type === EventType.RUN_FINISHED) {
      const { outcome } = event as RunFinishedEvent
      this.#pending = (outcome?.type === 'success' && outcome.pendingToolCallIds) || []
    }
    if (event.type === EventType.RUN_ERROR) {
      const { code, metadata } = event as RunErrorEvent
      if (code === 'RUN_LOST' && metadata?.retryable === true) this.lostRunId = this.#runId
    }
    this.#addEvent(event)
    this.#changed()
  }

  /** Adds an event. Contract: the server sends an idle thread as a run without a protocol version, which is not shown. */
  #addEvent(event: BaseEvent): void {
    if (event.type === EventType.RUN_STARTED) {
      const { runId, protocolVersion } = event as BaseEvent & { runId: string; protocolVersion?: string }
      this.#runId = protocolVersion === undefined ? undefined : runId
    }
    if (this.#runId === undefined && event.type !== EventType.RUN_ERROR) return
    this.events.push(event)
    this.transcript.addEvent(event)
    this.trace.addEvent(event)
  }

  #addFailure(error: unknown): void {
    if (this.#closed || this.status === 'stopping') return
    this.transcript.addNote(failureText(error), 'bad')
  }

  #applyEdits(): boolean {
    if (this.#edits.length === 0) return false
    const state = this.shared
    this.#edits = []
    this.#agent.setState(state)
    return true
  }

  /** Saves the shared state. Contract: a new conversation sends its state with its first run instead. */
  #save(): void {
    if (this.isEmpty) return
    const { packing = [] } = this.shared
    this.#saved = this.#saved.then(() => putState(this.threadId, { packing }))
  }

  #changed(): void {
    if (this.#frame !== 0) return
    this.#frame = requestAnimationFrame(() => this.#notify())
  }

  #notify(): void {
    cancelAnimationFrame(this.#frame)
    this.#frame = 0
    this.#version++
    for (const listener of this.#listeners) listener()
  }
}

function ignore(): void {}
