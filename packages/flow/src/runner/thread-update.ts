import {
  type AgentInput,
  type Answers,
  type Checkpoint,
  type Clock,
  type JsonObject,
  KernelError,
  type Message,
  type ResumeInfo,
  type RunInput,
  type State,
  type Thread,
  type ThreadCommit,
} from '@troupe/kernel'
import { repairHistory, unanswered } from '@troupe/kernel/history'
import { sleep } from '@troupe/kernel/kit'
import type { ThreadLog } from '../thread-log.ts'
import type { Suspended } from '../tree/flow-outcome.ts'
import { makeCheckpoint } from './checkpoint.ts'
import type { Opening } from './opening.ts'
import type { RunnerParts } from './runner-parts.ts'
import { loadMessages, OpenCalls } from './thread-messages.ts'

/** The input or the answers that a run was started with. */
export type RunIntent =
  | { readonly input: RunInput; readonly answers?: undefined }
  | { readonly answers: Answers; readonly input: Omit<RunInput, 'messages'> }

/** The parts of a `ThreadUpdate`. */
interface ThreadUpdateParts {
  readonly runner: RunnerParts
  readonly runId: string
  readonly intent: RunIntent
  readonly thread: Thread
  readonly opening: Opening
  /** The token of the lease. */
  readonly token: number
  /** Where the agents of the run record their messages. */
  readonly log: ThreadLog
}

/** Everything one run changes in its thread, from loading the history to the commit. */
export class ThreadUpdate {
  readonly #parts: ThreadUpdateParts
  #history: readonly Message[] = []
  /** Messages that were added to the history before the agents ran. */
  #given: readonly Message[] = []
  #stored: { readonly suspended: Checkpoint | undefined; readonly ids: ReadonlySet<string> } | undefined
  /** The checkpoint, once it is certain that the run stops here. */
  suspended: Checkpoint | undefined

  constructor(parts: ThreadUpdateParts) {
    this.#parts = parts
  }

  /** The state at the start of the run. */
  get state(): JsonObject {
    const { thread, intent } = this.#parts
    if (!intent.input.state) return thread.state
    const { set, removed = [] } = intent.input.state
    const state = { ...thread.state, ...set }
    for (const key of removed) delete state[key]
    return state
  }

  /** Loads the history and gives the input of the agents. Contract: answers are taken once; if the process dies, the effects of this run are unknown and it is not repeated. */
  async begin(): Promise<AgentInput | ResumeInfo> {
    const { runner, runId, thread, opening, intent, log } = this.#parts
    const stored = await loadMessages(runner.store.threads, thread.ref, runId, opening.messages)
    // A stored history is complete, except for calls that wait and results that came in a later run.
    this.#history = repairHistory(stored, { awaiting: unanswered(stored).map(({ id }) => id) })
    this.#given = opening.drops ? this.#openCalls(opening.messages).answered(opening.messages) : opening.messages
    const messages = this.#history.length === 0 ? this.#given : this.#history.concat(this.#given)
    log.begin(messages)
    if (intent.answers) {
      await this.#write({
        checkpoint: opening.checkpoint ? { ...opening.checkpoint, resumedBy: runId } : null,
        ...(intent.input.processed && { processed: intent.input.processed }),
      })
    }
    return { ...intent.input, messages, ...opening.resumption }
  }

  /** Makes the checkpoint of a run that stops here. */
  checkpoint(suspended: Suspended): Checkpoint {
    const { runner, runId, opening } = this.#parts
    return makeCheckpoint(runner.flow.name, runId, suspended, opening.checkpoint)
  }

  /** Stores the changes. Contract: one commit for each run, and one before it if the run ends with a question. */
  async commit(state: State, suspended: Checkpoint | undefined = this.suspended): Promise<void> {
    const { runId, thread, intent, log } = this.#parts
    log.settle()
    const said = [...this.#given, ...log.newMessages]
    const calls = this.#openCalls(said)
    const all = suspended ? said : calls.answered(said)
    const stored = this.#stored
    if (stored?.suspended === suspended && stored?.ids.size === all.length) return
    const processed = intent.answers ? undefined : intent.input.processed
    await this.#write({
      ...changes(thread.state, state),
      messages: all.filter(({ id }) => !stored?.ids.has(id)).map((message) => ({ runId, message })),
      openCalls: suspended ? calls.besides(suspended.interrupts) : [],
      checkpoint: suspended ?? null,
      ...(processed && { processed }),
    })
    this.#stored = { suspended, ids: new Set(all.map(({ id }) => id)) }
  }

  #write(commit: ThreadCommit): Promise<unknown> {
    const { runner, thread, token } = this.#parts
    return withRetries(runner.clock, () => runner.store.threads.commit(thread.ref, commit, token))
  }

  #openCalls(said: readonly Message[]): OpenCalls {
    return new OpenCalls(this.#parts.thread.checkpoint !== undefined, this.#history, said)
  }
}

const ATTEMPTS = 3

/** Retries errors that are marked as retryable. */
async function withRetries<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !KernelError.is(error) || !error.retryable) throw error
      await sleep(clock, 100 * attempt)
    }
  }
}

/** The differences from the stored state, without `temp:` keys, which live for one run. */
function changes(stored: JsonObject, state: State): { set: JsonObject; removed: readonly string[] } {
  const set: Record<string, JsonObject[string]> = {}
  const kept = new Set<string>()
  for (const key of state.keys()) {
    if (key.startsWith('temp:')) continue
    kept.add(key)
    const value = state.get(key)
    if (value !== undefined && value !== stored[key]) set[key] = value
  }
  return { set, removed: Object.keys(stored).filter((key) => !kept.has(key)) }
}
