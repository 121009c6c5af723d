import {
  type BaseEvent,
  EventType,
  type Interrupt,
  type Message,
  type MessagesSnapshotEvent,
  type ResumeEntry,
  type RunErrorEvent,
  type RunFinishedEvent,
  type RunStartedEvent,
  type ToolMessage,
} from '@ag-ui/client'
import { type Send, sender } from '../request/access.ts'
import { failureOf } from '../request/failure.ts'
import { contentOf, textOf, withText } from './content.ts'
import type { Item, NoteItem } from './item.ts'
import { newId } from './new-id.ts'
import { OtherPages } from './other-pages.ts'
import { declared, runPageTool, unlessElsewhere } from './page-tool.ts'
import { Publisher } from './publisher.ts'
import { SharedState } from './shared-state.ts'
import { ShownConversation } from './shown-conversation.ts'
import type { Thread, ThreadActions, ThreadOptions, ThreadStatus } from './thread.ts'
import { ThreadClient } from './thread-client.ts'
import { type ThreadInfo, ThreadRequests } from './thread-requests.ts'
import { userItem } from './user-item.ts'

/** A run that this page asks for. */
interface RunRequest {
  /** Messages of the conversation that are to be answered again. */
  readonly again?: readonly Message[]
  readonly resume?: readonly ResumeEntry[]
}

/** The code of the client itself for a run that it has left. */
const LEFT = 'abort'

const NO_EVENTS: readonly BaseEvent[] = []
const TITLE_CHARS = 80

/**
 * One conversation: the client behind it, and everything that the page shows of it.
 * Contract: does nothing until it is opened; may be closed and opened again, and what began before is ignored then.
 */
export class ThreadSession {
  /** The current options. Contract: `url` and `threadId` stay the same. */
  options: ThreadOptions
  readonly #send: Send = sender(() => this.options)
  readonly #requests: ThreadRequests
  readonly #publisher: Publisher
  readonly #actions: ThreadActions
  readonly #state = new SharedState()
  readonly #answers = new Map<string, ResumeEntry>()
  #client: ThreadClient
  #others: OtherPages | undefined
  #shown: ShownConversation
  #view: Thread | undefined
  /** Whether the view stays as it is until the conversation has been loaded again. */
  #isHeld = false
  #isOpen = false
  /** Grows when the conversation is loaded, and when it is closed. */
  #epoch = 0
  #status: ThreadStatus = 'loading'
  #whenLoaded: (() => void)[] = []
  /** What the server does not have yet: messages of the user, and results of tools of this page. */
  #outbox: readonly Message[] = []
  /** The run that this page asks for, until it has begun. */
  #requestedRunId: string | undefined
  #isJoining = false
  /** Whether another page has started a run while one was shown here. */
  #isBehind = false
  #pending: readonly string[] = []
  #toolStop: AbortController | undefined
  #lostRunId: string | undefined
  #failed: 'load' | 'run' | undefined
  #failure: NoteItem | undefined
  #saved: Promise<void> = Promise.resolve()
  #title: string | undefined
  #updatedAt: number | undefined

  constructor(options: ThreadOptions) {
    this.options = options
    this.#requests = new ThreadRequests(this.#send, options.url, options.threadId)
    this.#publisher = new Publisher(() => {
      if (!this.#isHeld) this.#view = undefined
    })
    this.#client = this.#newClient()
    this.#shown = new ShownConversation(options.keepEvents ?? false)
    this.#actions = {
      send: (text, files = []) => this.#sendMessage(text, files),
      answer: (interruptId, payload) => this.#settle({ interruptId, status: 'resolved', payload }),
      dismiss: (interruptId) => this.#settle({ interruptId, status: 'cancelled' }),
      stop: () => this.#stop(),
      continue: () => this.#continue(),
      retry: () => this.#retry(),
      regenerate: (messageId) => this.#answerAgain(messageId),
      edit: (messageId, text) => this.#answerAgain(messageId, text),
      setState: (change) => {
        this.#state.add(change)
        if (this.#status === 'idle') this.#save()
        this.#publisher.now()
      },
      reload: () => {
        void this.#reload()
        return this.#untilLoaded()
      },
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => this.#publisher.subscribe(listener)

  readonly view = (): Thread => {
    this.#view ??= {
      ...this.#actions,
      threadId: this.options.threadId,
      status: this.#status,
      items: this.#items,
      runs: this.#shown.trace.runs,
      questions: this.#questions,
      state: this.#state.on(this.#client.state),
      title: this.#title ?? this.#firstWords,
      recovery: this.#recovery,
      events: this.options.keepEvents ? [...this.#shown.events] : NO_EVENTS,
    }
    return this.#view
  }

  /** Loads the history and joins the run that is active. Contract: returns what closes it again; its run continues then. */
  readonly open = (): (() => void) => {
    const { url, threadId } = this.options
    this.#isOpen = true
    this.#others = new OtherPages(`troupe ${url} ${threadId}`, {
      onRun: () => {
        if (this.#status === 'idle') void this.#reload()
        else this.#isBehind = true
      },
      onReturn: () => void this.#lookAgain(),
    })
    void this.#reload()
    return () => {
      this.#isOpen = false
      this.#epoch++
      this.#toolStop?.abort()
      this.#others?.close()
      this.#client.leave()
    }
  }

  get #items(): readonly Item[] {
    const { items } = this.#shown.transcript
    const isUnsent = this.#status === 'idle'
    const unsent = this.#outbox.flatMap((message) =>
      message.role === 'user' ? [userItem(message.id, message.content, isUnsent)] : [],
    )
    if (unsent.length === 0 && !this.#failure) return items
    return [...items, ...unsent, ...(this.#failure ? [this.#failure] : [])]
  }

  get #questions(): readonly Interrupt[] {
    return this.#client.questions.filter(({ id }) => !this.#answers.has(id))
  }

  get #firstWords(): string | undefined {
    const first = this.#items.find((item) => item.kind === 'user')
    return first?.text.trim().slice(0, TITLE_CHARS) || undefined
  }

  get #recovery(): Thread['recovery'] {
    if (this.#status !== 'idle') return undefined
    return this.#lostRunId === undefined ? this.#failed && 'retry' : 'continue'
  }

  #newClient(): ThreadClient {
    return new ThreadClient(this.options, this.#send, {
      onEvent: (event) => this.#onEvent(event),
      onState: () => this.#publisher.soon(),
    })
  }

  /** Whether what goes on now is still to be shown later. */
  #watch(): () => boolean {
    const epoch = this.#epoch
    return () => epoch === this.#epoch && this.#isOpen
  }

  #setStatus(status: ThreadStatus): void {
    this.#status = status
    if (status !== 'loading') for (const go of this.#whenLoaded.splice(0)) go()
    this.#publisher.now()
  }

  #untilLoaded(): Promise<void> {
    return new Promise((resolve) => this.#whenLoaded.push(resolve))
  }

  /** Shows what has been loaded. */
  #release(): void {
    this.#isHeld = false
    this.#publisher.now()
  }

  async #reload(): Promise<void> {
    this.#client.leave()
    // What is shown stays until there is something new.
    this.#isHeld = this.view().items.length > 0
    this.#epoch++
    this.#isBehind = false
    const { state } = this.#client
    this.#client = this.#newClient()
    this.#client.state = state
    this.#shown = new ShownConversation(this.options.keepEvents ?? false)
    this.#answers.clear()
    this.#pending = []
    this.#requestedRunId = undefined
    this.#lostRunId = undefined
    this.#failed = undefined
    this.#failure = undefined
    this.#setStatus('loading')
    await this.#load()
  }

  async #load(): Promise<void> {
    const isCurrent = this.#watch()
    try {
      const running = await this.#loadHistory(isCurrent)
      // The run ended between two requests.
      const missed = running !== undefined && !this.#shown.trace.runs.some(({ runId }) => runId === running)
      if (missed && isCurrent()) return await this.#reload()
    } catch (error) {
      if (!isCurrent()) return
      this.#failed = 'load'
      this.#addFailure(error)
    }
    if (isCurrent()) await this.#afterRun()
  }

  /** Loads what there is, and follows the active run to its end. Contract: returns the run that should have been seen. */
  async #loadHistory(isCurrent: () => boolean): Promise<string | undefined> {
    const { history, threadId } = this.options
    if (!history) {
      const info = await this.#look()
      if (info && isCurrent()) await this.#join()
      return undefined
    }
    const { running, runs } = await history(threadId)
    if (!isCurrent()) return undefined
    this.#shown.addPast(runs)
    if (running !== undefined) this.#setStatus('running')
    if (runs.length === 0) return running
    this.#release()
    await this.#join()
    return running
  }

  async #join(): Promise<void> {
    this.#isJoining = true
    try {
      await this.#client.join(declared(this.options.tools ?? {}))
    } finally {
      this.#isJoining = false
    }
  }

  async #sendMessage(text: string, files: readonly Blob[]): Promise<boolean> {
    if (text === '' && files.length === 0) return false
    const content = files.length === 0 ? text : await contentOf(text, files)
    if (this.#status === 'loading') await this.#untilLoaded()
    if (!this.#isOpen || this.#status !== 'idle' || this.#questions.length > 0) return false
    this.#outbox = [...this.#outbox, { id: newId(), role: 'user', content }]
    void this.#run()
    return true
  }

  async #settle(entry: ResumeEntry): Promise<void> {
    if (this.#status !== 'idle' || !this.#questions.some(({ id }) => id === entry.interruptId)) return
    this.#answers.set(entry.interruptId, entry)
    if (this.#questions.length > 0) this.#publisher.now()
    else await this.#run({ resume: [...this.#answers.values()] })
  }

  /** Cancels the run on the server; its end arrives as an event. */
  async #stop(): Promise<void> {
    if (this.#status !== 'running') return
    const isCurrent = this.#watch()
    const runId = this.#shown.runId
    this.#setStatus('stopping')
    this.#toolStop?.abort()
    if (runId === undefined || (await this.#requests.cancelRun(runId)) || !isCurrent()) return
    this.#client.abort()
    this.#shown.transcript.addNote('stopped', 'quiet')
  }

  async #continue(): Promise<void> {
    const runId = this.#lostRunId
    if (runId === undefined || this.#status !== 'idle') return
    const isCurrent = this.#watch()
    this.#lostRunId = undefined
    this.#setStatus('running')
    // If another page was faster, this one joins.
    await this.#requests.continueRun(runId).catch(ignore)
    if (isCurrent()) await this.#reload()
  }

  async #retry(): Promise<void> {
    if (this.#status !== 'idle') return
    if (this.#failed === 'load') await this.#reload()
    else if (this.#outbox.length > 0) await this.#run()
    else await this.#answerAgain()
  }

  /** Answers a message of the user again, maybe with another text; its files stay. */
  async #answerAgain(messageId?: string, text?: string): Promise<void> {
    const user = this.#shown.transcript.user(messageId)
    if (!user || this.#status !== 'idle') return
    const content = text === undefined ? user.content : withText(user.content, text)
    this.#shown.transcript.cutAfter(user.id, content)
    // What was asked after it is cut off too, and so is what was not sent.
    this.#client.dropQuestions()
    this.#outbox = []
    await this.#run({ again: [{ id: user.id, role: 'user', content }] })
  }

  async #run({ again, resume }: RunRequest = {}): Promise<void> {
    const isCurrent = this.#watch()
    const runId = newId()
    this.#applyChanges()
    this.#pending = []
    this.#shown.runId = runId
    this.#requestedRunId = runId
    this.#lostRunId = undefined
    this.#failed = undefined
    this.#failure = undefined
    this.#setStatus('running')
    const { tools = {}, context } = this.options
    try {
      // Saving holds the lease of the thread for a short time.
      await this.#saved
      await this.#client.run([...(again ?? []), ...this.#outbox], {
        runId,
        tools: declared(tools),
        ...(context && { context: [...context] }),
        ...(resume && { resume: [...resume] }),
      })
      if (!isCurrent()) return
      this.#answers.clear()
      // Another page has answered before: the history has the result.
      const isOver = this.#questions.length === 0 && this.#pending.length === 0
      if (resume && isOver && this.#shown.transcript.isWaiting) return await this.#reload()
    } catch (error) {
      if (!isCurrent()) return
      this.#answers.clear()
      if (again || failureOf(error).code === 'THREAD_BUSY') return await this.#reloadAfter(error)
      this.#failed = 'run'
      this.#addFailure(error)
    }
    await this.#afterRun()
  }

  /** Loads the conversation again because it is not what this page thought, and says why. */
  async #reloadAfter(error: unknown): Promise<void> {
    const loading = this.#reload()
    this.#failed = this.#outbox.length > 0 ? 'run' : undefined
    this.#addFailure(error)
    await loading
  }

  /** After a run: runs the tools of this page that it waits for. */
  async #afterRun(): Promise<void> {
    const isCurrent = this.#watch()
    const { tools = {}, threadId } = this.options
    const wanted = this.#pending.filter((id) => Object.hasOwn(tools, this.#shown.transcript.call(id)?.name ?? ''))
    this.#shown.runId = undefined
    this.#shown.transcript.close()
    if (wanted.length > 0) {
      const [first] = wanted
      this.#setStatus('running')
      this.#release()
      if (await unlessElsewhere(`troupe ${threadId} ${first}`, () => this.#runTools(wanted))) return
      if (!isCurrent()) return
    }
    this.#setStatus('idle')
    this.#release()
    if (this.#isBehind) return this.#reload()
    this.#save()
    const isNew = this.#updatedAt === undefined || this.#title === undefined
    if (isNew && !this.#shown.isEmpty) await this.#look().catch(ignore)
    this.#publisher.soon()
  }

  async #runTools(callIds: readonly string[]): Promise<void> {
    const isCurrent = this.#watch()
    const { tools = {} } = this.options
    const stop = new AbortController()
    this.#toolStop = stop
    const results = callIds.map(async (toolCallId): Promise<ToolMessage> => {
      const { name = '', args = '' } = this.#shown.transcript.call(toolCallId) ?? {}
      const result = await runPageTool(tools[name], args, stop.signal)
      return { id: newId(), role: 'tool', toolCallId, ...result }
    })
    const messages = await Promise.all(results)
    if (!isCurrent()) return
    for (const message of messages) {
      const { toolCallId, content, error } = message
      this.#shown.transcript.addResult(toolCallId, textOf(content), error !== undefined)
    }
    this.#outbox = [...messages, ...this.#outbox]
    if (!stop.signal.aborted) return this.#run()
    // The next message takes the results along.
    this.#shown.transcript.addNote('stopped', 'quiet')
    this.#setStatus('idle')
  }

  /** Asks what the server knows of the thread, and gives it a title if it has none. */
  async #look(): Promise<ThreadInfo | undefined> {
    const isCurrent = this.#watch()
    const words = this.#firstWords
    const info = await this.#requests.info()
    // Also when another conversation is shown by now.
    const needsTitle = info !== undefined && info.title === undefined && words !== undefined
    if (needsTitle) await this.#requests.setTitle(words).catch(ignore)
    if (!info || !isCurrent()) return info
    this.#updatedAt = info.updatedAt
    this.#title = needsTitle ? words : info.title
    return info
  }

  /** Loads the conversation again if it has changed elsewhere, or could not be loaded before. */
  async #lookAgain(): Promise<void> {
    const isCurrent = this.#watch()
    const before = this.#updatedAt
    if (this.#status !== 'idle') return
    if (this.#failed === 'load') return this.#reload()
    if (before === undefined) return
    const info = await this.#look().catch(ignore)
    const isOther = info?.runId !== undefined || (info !== undefined && info.updatedAt !== before)
    if (isOther && isCurrent() && this.#status === 'idle') await this.#reload()
  }

  #onEvent(event: BaseEvent): void {
    switch (event.type) {
      case EventType.RUN_STARTED:
        this.#onRunStarted(event as RunStartedEvent)
        break
      case EventType.RUN_FINISHED:
        this.#onRunFinished(event as RunFinishedEvent)
        break
      case EventType.RUN_ERROR:
        if ((event as RunErrorEvent).code === LEFT) {
          this.#shown.addLeft(event)
          return
        }
        this.#onRunError(event as RunErrorEvent)
        break
      case EventType.MESSAGES_SNAPSHOT:
        if (this.#shown.runId === undefined) this.#onHistory(event as MessagesSnapshotEvent)
        break
    }
    this.#shown.addEvent(event)
    this.#publisher.soon()
  }

  #onRunFinished({ outcome }: RunFinishedEvent): void {
    this.#updatedAt = undefined
    this.#pending = (outcome?.type === 'success' && outcome.pendingToolCallIds) || []
    if (this.#shown.runId !== undefined || this.options.history) return
    // In the history a call inside a sub-agent, which it does not have, waits with the call around it.
    const asked = outcome?.type === 'interrupt' ? outcome.interrupts : []
    const calls = asked.flatMap(({ toolCallId }) => toolCallId?.split('/')[0] ?? [])
    this.#shown.transcript.wait([...calls, ...this.#pending])
  }

  #onRunError({ code, metadata }: RunErrorEvent): void {
    this.#updatedAt = undefined
    this.#failed = 'run'
    if (code === 'RUN_LOST' && metadata?.retryable === true) this.#lostRunId = this.#shown.runId
  }

  #onHistory({ messages }: MessagesSnapshotEvent): void {
    if (!this.options.history) this.#shown.transcript.addMessages('', messages)
  }

  #onRunStarted({ runId, input, protocolVersion }: RunStartedEvent): void {
    if (this.#isJoining && protocolVersion !== undefined) {
      // What was before the run that is joined.
      if (!this.options.history) this.#shown.transcript.addMessages('', input?.messages ?? [])
      this.#setStatus('running')
    }
    this.#release()
    if (runId !== this.#requestedRunId) return
    this.#requestedRunId = undefined
    for (const message of this.#outbox) {
      if (message.role === 'user') this.#shown.transcript.addUserMessage(message.id, message.content)
    }
    this.#outbox = []
    this.#others?.tellOfRun()
    // At once, because the page may be closed before the run has ended.
    if (this.#title === undefined) void this.#look().catch(ignore)
  }

  #addFailure(error: unknown): void {
    if (this.#status === 'stopping') return
    const { code, text } = failureOf(error)
    this.#failure = { kind: 'note', id: newId(), code, tone: 'bad', ...(text !== undefined && { text }) }
  }

  /** Gives the client the state with the changes of this page, for the next run. */
  #applyChanges(): void {
    if (!this.#state.isChanged) return
    const state = this.#state.on(this.#client.state)
    this.#state.clear()
    this.#client.state = state
  }

  /** Saves the shared state. Contract: a new conversation sends its state with its first run instead. */
  #save(): void {
    const { saveState } = this.options
    if (!saveState || !this.#state.isChanged || this.#shown.isEmpty) return
    this.#applyChanges()
    const { state } = this.#client
    this.#saved = this.#saved.then(() => saveState(state)).catch(ignore)
  }
}

function ignore(): undefined {}
