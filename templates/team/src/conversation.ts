import type { FlowRunner } from '@troupe/flow'
import {
  type AgentEvent,
  type Interrupt,
  type Json,
  KernelError,
  type Run,
  type Store,
  type ThreadRef,
} from '@troupe/kernel'
import type { Terminal } from './terminal.ts'

/** What a conversation needs. */
export interface ConversationOptions {
  readonly runner: FlowRunner
  readonly store: Store
  readonly session: ThreadRef
  readonly terminal: Terminal
  /** Stops what is under way. */
  readonly signal: AbortSignal
}

/** One conversation with the team in the terminal. */
export class Conversation {
  readonly #options: ConversationOptions

  constructor(options: ConversationOptions) {
    this.#options = options
  }

  /** Goes on where an earlier process stopped: with a run that broke off, and with open questions. */
  async goOn(): Promise<void> {
    const { runner, store, session, terminal, signal } = this.#options
    const thread = await store.threads.get(session)
    if (thread?.unfinished !== undefined) {
      const said = await terminal.ask('The last answer broke off. Go on with it? [y/n] ')
      if (isYes(said)) await this.#untilAnswered(runner.continue(session, { busy: 'queue', signal, again: true }))
    } else await this.#answer(thread?.checkpoint?.interrupts ?? [])
  }

  /** Sends a message and shows the answer. Gives false if it failed. */
  async say(text: string): Promise<boolean> {
    const { runner, session, signal } = this.#options
    // A question that was not answered is dropped when the user writes on.
    return this.#untilAnswered(runner.query(text, { session, signal, pending: 'drop' }))
  }

  async #untilAnswered(run: Run): Promise<boolean> {
    const { terminal, signal } = this.#options
    try {
      await this.#answer(await this.#show(run))
      return true
    } catch (error) {
      if (signal.aborted) return false
      const { code, message } = KernelError.from(error)
      terminal.print(`\n✗ ${code}: ${message}\n`)
      return false
    }
  }

  /** Asks the user until nothing is open. */
  async #answer(questions: readonly Interrupt[]): Promise<void> {
    const { runner, session, terminal, signal } = this.#options
    let open = questions
    while (open.length > 0) {
      const answers: Record<string, Json> = {}
      for (const { id, message, metadata } of open) {
        const said = await terminal.ask(`? ${message} ${metadata?.arguments ?? ''} [y/n/always] `)
        if (said === undefined) return terminal.print('\nThis question is asked again next time.\n')
        // "always" is kept in the store and holds for all later calls of this tool.
        answers[id] = /^\s*a/i.test(said) ? { approved: true, always: 'tool' } : { approved: isYes(said) }
      }
      open = await this.#show(runner.resume(answers, { session, signal }))
    }
  }

  /** Prints a run as it happens, and gives the questions at its end. Throws if it fails. */
  async #show(run: Run): Promise<readonly Interrupt[]> {
    let speaker = ''
    for await (const event of run) {
      const text = textOfEvent(event)
      if (text === undefined) continue
      const who = [...event.runPath, event.agentName].join(' › ')
      if (who !== speaker) this.#options.terminal.print(`[${who}]\n`)
      speaker = who
      this.#options.terminal.print(text)
    }
    return (await run).interrupts ?? []
  }
}

/** What the user sees of an event. */
function textOfEvent(event: AgentEvent): string | undefined {
  if (event.type === 'text-delta') return event.delta
  if (event.type === 'message-end' && event.message.content !== '') return '\n'
  if (event.type === 'tool-start') return `  → ${event.name} ${event.arguments}\n`
  if (event.type === 'tool-end' && event.status === 'failed') return `  ✗ ${event.content}\n`
  if (event.type === 'custom' && event.name === 'budget-warning') return `  ! ${JSON.stringify(event.data)}\n`
  return undefined
}

function isYes(text: string | undefined): boolean {
  return /^\s*y/i.test(text ?? '')
}
