import { type BaseEvent, EventType, type Interrupt, type ResumeEntry, type RunFinishedEvent } from '@ag-ui/client'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { CLIENT_TOOLS, runClientTool } from './client-tools.ts'
import { failureText } from './failure-text.ts'
import { type Edit, edited, type Shared } from './packing.ts'
import { cancelRun, getHistory, getTokens, putState, type Tokens } from './server.ts'
import { Trace } from './trace.ts'
import { Transcript } from './transcript.ts'

/** One conversation: the agent behind it, and everything that the page shows of it. */
export class Conversation {
  readonly threadId: string
  transcript: Transcript = new Transcript()
  trace: Trace = new Trace()
  events: BaseEvent[] = []
  tokens: Tokens = {}
  status: 'loading' | 'idle' | 'running' | 'stopping' = 'loading'
  readonly #agent: ResumableHttpAgent
  readonly #listeners = new Set<() => void>()
  readonly #answers = new Map<string, ResumeEntry>()
  #edits: readonly Edit[] = []
  #runId: string | undefined
  #pending: readonly string[] = []
  #left = false
  #saved: Promise<void> = Promise.resolve()
  #version = 0
  #frame = 0

  constructor(threadId: string) {
    this.threadId = threadId
    this.#agent = new ResumableHttpAgent({ url: '/agent', threadId })
    this.#agent.subscribe({ onEvent: ({ event }) => this.#see(event) })
  }

  /** Grows with each change; what agents do shows at most once per frame. */
  get version(): number {
    return this.#version
  }

  get isEmpty(): boolean {
    return this.transcript.items.length === 0
  }

  /** Questions that nobody has answered yet. */
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

  /** Shows what was, and joins the run that is under way. */
  async open(): Promise<void> {
    try {
      const { running, runs } = await getHistory(this.threadId)
      if (this.#left) return
      for (const run of runs) {
        for (const { id, text } of run.said) this.transcript.said(id, text)
        for (const { toolCallId, text } of run.answers) this.transcript.answered(toolCallId, text)
        this.transcript.heard(run.runId, run.messages)
        for (const event of run.events) this.#take(event)
      }
      if (running !== undefined) this.status = 'running'
      this.#changed()
      if (running !== undefined) this.#count()
      if (runs.length > 0) await this.#agent.connectAgent({ tools: CLIENT_TOOLS })
      // It ended between the two questions: ask again.
      const missed = running !== undefined && !this.trace.runs.some(({ runId }) => runId === running)
      if (missed && !this.#left) return await this.#again()
    } catch (error) {
      this.#failed(error)
    }
    await this.#settle()
  }

  /** Leaves the page of this conversation; a run goes on without it. */
  leave(): void {
    this.#left = true
    void this.#agent.detachActiveRun()
  }

  say(text: string): Promise<void> {
    const id = crypto.randomUUID()
    this.#agent.addMessage({ id, role: 'user', content: text })
    this.transcript.said(id, text)
    return this.#run()
  }

  /** Answers a question. Contract: the run goes on when the last one is answered. */
  async answer(interruptId: string, payload: { approved: boolean; arguments?: string }): Promise<void> {
    this.#answers.set(interruptId, { interruptId, status: 'resolved', payload })
    if (this.questions.length > 0) return this.#changed()
    await this.#run([...this.#answers.values()])
  }

  /** Stops the run, on the server; how it ends is seen as of any other. */
  async stop(): Promise<void> {
    if (this.status !== 'running') return
    this.status = 'stopping'
    this.#changed()
    if (this.#runId !== undefined && (await cancelRun(this.threadId, this.#runId))) return
    this.#agent.abortRun()
    this.transcript.note('Stopped.', 'quiet')
  }

  /** Changes the shared list; during a run the change is made again on whatever the run leaves. */
  edit(edit: Edit): void {
    this.#edits = [...this.#edits, edit]
    if (this.status === 'idle') {
      this.#applyEdits()
      this.#save()
    }
    // At once: a box that is ticked must not blink.
    this.#tell()
  }

  async #again(): Promise<void> {
    this.transcript = new Transcript()
    this.trace = new Trace()
    this.events = []
    await this.open()
  }

  async #run(resume?: ResumeEntry[]): Promise<void> {
    this.#applyEdits()
    this.#pending = []
    const runId = crypto.randomUUID()
    this.#runId = runId
    this.status = 'running'
    this.#changed()
    try {
      // Saving holds the thread for a moment.
      await this.#saved
      await this.#agent.runAgent({ runId, tools: CLIENT_TOOLS, ...(resume && { resume }) })
      this.#answers.clear()
      // Answered before on another page: what came of it is in the history.
      const isLate = resume && this.questions.length === 0 && this.#pending.length === 0 && this.transcript.isWaiting
      if (isLate && !this.#left) return await this.#again()
    } catch (error) {
      this.#answers.clear()
      this.#failed(error)
    }
    await this.#settle()
  }

  /** After a run: what it waits for on this page is done. */
  async #settle(): Promise<void> {
    if (this.#left) return
    this.status = 'idle'
    this.#runId = undefined
    this.transcript.close()
    if (this.#applyEdits() && this.#pending.length === 0) this.#save()
    this.#changed()
    this.#count()
    if (this.#pending.length === 0) return
    for (const toolCallId of this.#pending) {
      const call = this.transcript.calls.get(toolCallId)
      const content = runClientTool(call?.name ?? '', call?.args ?? '')
      this.#agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content })
      this.transcript.answered(toolCallId, content)
    }
    await this.#run()
  }

  #count(): void {
    getTokens(this.threadId).then((tokens) => {
      this.tokens = tokens
      this.#changed()
    }, ignore)
  }

  #see(event: BaseEvent): void {
    if (this.#left) return
    if (event.type === EventType.RUN_FINISHED) {
      const { outcome } = event as RunFinishedEvent
      this.#pending = (outcome?.type === 'success' && outcome.pendingToolCallIds) || []
    }
    this.#take(event)
    this.#changed()
  }

  /** Contract: a thread in which nothing runs is told as a run without a protocol version, of which there is nothing to show. */
  #take(event: BaseEvent): void {
    if (event.type === EventType.RUN_STARTED) {
      const { runId, protocolVersion } = event as BaseEvent & { runId: string; protocolVersion?: string }
      this.#runId = protocolVersion === undefined ? undefined : runId
    }
    if (this.#runId === undefined && event.type !== EventType.RUN_ERROR) return
    this.events.push(event)
    this.transcript.see(event)
    this.trace.see(event)
  }

  #failed(error: unknown): void {
    if (this.#left || this.status === 'stopping') return
    this.transcript.note(failureText(error), 'bad')
  }

  #applyEdits(): boolean {
    if (this.#edits.length === 0) return false
    const state = this.shared
    this.#edits = []
    this.#agent.setState(state)
    return true
  }

  /** Contract: a conversation that has not begun takes its state with its first run. */
  #save(): void {
    if (this.isEmpty) return
    const { packing = [] } = this.shared
    this.#saved = this.#saved.then(() => putState(this.threadId, { packing }))
  }

  #changed(): void {
    if (this.#frame !== 0) return
    this.#frame = requestAnimationFrame(() => this.#tell())
  }

  #tell(): void {
    cancelAnimationFrame(this.#frame)
    this.#frame = 0
    this.#version++
    for (const listener of this.#listeners) listener()
  }
}

function ignore(): void {}
