import { HttpAgent, type Message, type ResumeEntry } from '@ag-ui/client'
import { HttpAgent as OldHttpAgent } from '@ag-ui/client-0'
import { EventType } from '@ag-ui/core'
import type { AgUiEvent } from '@troupe/ag-ui'
import { strictVerifier } from '@troupe/ag-ui/verify'
import { PICK } from '../in-process-client.fixture.ts'
import { LAST_WORD } from './random-desk.fixture.ts'

/** The generations of the official client. */
export const GENERATIONS: { readonly [version: string]: typeof HttpAgent } = {
  '1.0': HttpAgent,
  '0.0.59': OldHttpAgent as unknown as typeof HttpAgent,
}

/** How a run of a tab ended. */
export type TabOutcome = 'success' | 'interrupt' | 'cancelled' | 'error' | 'stopped' | 'busy' | 'rejected' | 'pending'

/** Whether a run has said what it says before it hangs. */
function neverEnds(event: AgUiEvent): boolean {
  return event.type === EventType.TEXT_MESSAGE_CONTENT && event.delta === LAST_WORD
}

type EventIds = { readonly messageId?: string; readonly parentMessageId?: string; readonly subagentRunId?: string }

/** A page of one thread with an official client, whose verifier sees every event. */
export class Tab {
  readonly agent: HttpAgent
  /** Whether this client is of 1.0, which our own verifier checks too. */
  readonly #current: boolean
  /** Messages of agents inside calls, which are not in the thread. */
  readonly nested: Set<string> = new Set()
  /** Runs that were stopped, and the messages that they have shown: the server may have more of them than this page. */
  readonly stopped: Set<string> = new Set()
  /** What was wrong with a stream. */
  readonly violations: string[] = []
  /** The runs that this page knows of, as the thread counts them. */
  seen = 0
  waiting: readonly string[] = []
  #runs = 0
  readonly #name: string

  constructor(url: string, threadId: string, version: string, name: string) {
    const Agent = GENERATIONS[version] as typeof HttpAgent
    this.agent = new Agent({ url, threadId })
    this.#current = version === '1.0'
    this.#name = name
  }

  /** Starts a run, and stops it after some events. */
  async run(resume: ResumeEntry[] = [], stopAfter: number = Number.POSITIVE_INFINITY): Promise<TabOutcome> {
    const { agent } = this
    const events: AgUiEvent[] = []
    const verifier = strictVerifier({ messages: agent.messages as never })
    let stopping = false
    const runId = `${agent.threadId}:${this.#name}:${++this.#runs}`
    try {
      await agent.runAgent(
        { runId, tools: [PICK], ...(resume.length > 0 && { resume }) },
        {
          onEvent: ({ event }) => {
            events.push(event as AgUiEvent)
            if (stopping) return
            if (this.#current) this.#verify(() => verifier.see(event as AgUiEvent))
            if (events.length === stopAfter || neverEnds(event as AgUiEvent)) {
              stopping = true
              agent.abortRun()
            }
          },
        },
      )
    } catch (error) {
      const { message = '', name = '' } = error as Error
      if (message.includes('HTTP 409')) return 'busy'
      if (!stopping) this.violations.push(`${name} ${message}`)
    }
    for (const event of events) this.#note(event, stopping)
    if (stopping) {
      this.stopped.add(runId)
      return 'stopped'
    }
    if (this.#current) this.#verify(() => verifier.end())
    return this.#outcome(events)
  }

  #verify(check: () => void): void {
    try {
      check()
    } catch (error) {
      this.violations.push(`strict: ${(error as Error).message}`)
    }
  }

  #note(event: AgUiEvent, stopping: boolean): void {
    const { messageId, subagentRunId, parentMessageId } = event as EventIds
    for (const id of [messageId, parentMessageId]) {
      if (id === undefined) continue
      if (subagentRunId !== undefined) this.nested.add(id)
      else if (stopping) this.stopped.add(id)
    }
  }

  #outcome(events: readonly AgUiEvent[]): TabOutcome {
    const [last] = events.slice(-1)
    this.waiting = []
    if (last?.type === EventType.RUN_ERROR) return events.length === 1 ? 'rejected' : 'error'
    if (last?.type !== EventType.RUN_FINISHED) {
      this.violations.push(`ended with ${last?.type}`)
      return 'error'
    }
    this.waiting = this.#openCalls()
    const { outcome } = last
    if (outcome?.type === 'interrupt') return 'interrupt'
    if (this.waiting.length > 0) return 'pending'
    return outcome?.type ?? 'success'
  }

  /** The calls of the page's tool that have no result. */
  #openCalls(): readonly string[] {
    const { messages } = this.agent
    const done = new Set(messages.flatMap((message) => (message.role === 'tool' ? message.toolCallId : [])))
    const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    return calls.flatMap(({ id, function: { name } }) => (name === PICK.name && !done.has(id) ? id : []))
  }

  /** Cuts messages off, but not the results of calls that stay: they may come after a message that was sent beside answers. */
  cutAt(index: number): void {
    const { messages } = this.agent
    const [kept, off] = [messages.slice(0, index), messages.slice(index)]
    const moved = kept.flatMap((message) => {
      const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
      const isResult = (other: Message) => other.role === 'tool' && calls.some(({ id }) => id === other.toolCallId)
      return [message, ...off.filter(isResult)]
    })
    this.agent.setMessages(moved)
  }

  get messages(): readonly Message[] {
    return this.agent.messages
  }
}
