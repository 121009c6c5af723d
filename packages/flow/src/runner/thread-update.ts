import type {
  AgentInput,
  Answers,
  Checkpoint,
  ClosedQuestions,
  Json,
  JsonObject,
  Message,
  ResumeInfo,
  RunInput,
  State,
  Thread,
  ThreadCommit,
} from '@troupe/kernel'
import { type KeyChanges, mergeChanges, noteChanges } from '../key-changes.ts'
import type { ThreadLog } from '../thread-log.ts'
import type { Suspended } from '../tree/flow-outcome.ts'
import { callsRunAgain, type KeptValues, keptValues, makeCheckpoint, withWaiting } from './checkpoint.ts'
import type { Opening } from './opening.ts'
import { openedRun } from './run-journal.ts'
import type { RunnerParts } from './runner-parts.ts'
import { byLifetime, changesAfter, placeChanges, temporary } from './state-changes.ts'
import { StoredHistory } from './stored-history.ts'
import { findHistory, historyFrom } from './thread-history.ts'
import { mayKnow, OpenCalls } from './thread-messages.ts'
import { WaitingMessages } from './waiting-messages.ts'
import { type StoreWrite, withRetries } from './with-retries.ts'

const EMPTY = new StoredHistory([], new Set())

/** The input or the answers that a run was started with. */
export type RunIntent =
  | { readonly input: RunInput; readonly answers?: undefined }
  | ({ readonly answers: Answers; readonly input: Partial<RunInput> } & ClosedQuestions)

/** Writes a commit to a thread. */
export type ThreadWrite = (work: () => Promise<Thread>) => Promise<Thread>

/** The parts of a `ThreadUpdate`. */
interface ThreadUpdateParts {
  readonly runner: RunnerParts
  readonly runId: string
  readonly intent: RunIntent
  readonly thread: Thread
  readonly opening: Opening
  /** The token of the lease. */
  readonly token: number
  /** Whether no run has begun with this id before. */
  readonly fresh?: boolean
  /** Writes what the agents have done. */
  readonly write: StoreWrite | undefined
  /** Writes the last commit, which releases the lease; without it the lease stays. */
  readonly writeLast: ThreadWrite | undefined
  /** Where the agents of the run record their messages. */
  readonly log: ThreadLog
  /** A value that `continue` gives back to its caller. */
  readonly carry: Json | undefined
  /** The first message that a run that goes on was shown. */
  readonly from?: string
}

/** What of a run is in its thread. */
interface Stored {
  readonly suspended: Checkpoint | undefined
  /** In the order in which they were stored. */
  readonly messages: readonly Message[]
  /** Whether only the beginning is stored, and the journal is open. */
  readonly unfinished: boolean
}

/** Everything one run changes in its thread, from loading the history to the commit. */
export class ThreadUpdate {
  readonly #parts: ThreadUpdateParts
  #thread: Thread
  /** What the thread had before the run, as it is kept, as it is shown, and as agents see that. */
  #before: StoredHistory = EMPTY
  #shown: StoredHistory = EMPTY
  #history: readonly Message[] = []
  /** Messages that were added to the history before the agents ran. */
  #given: readonly Message[] = []
  #stored: Stored | undefined
  /** The checkpoint, once it is certain that the run stops here. */
  suspended: Checkpoint | undefined
  /** The messages that came with the answers. */
  readonly next: WaitingMessages

  constructor(parts: ThreadUpdateParts) {
    const { runId, log, opening } = parts
    this.next = new WaitingMessages(runId, log, opening.next)
    this.#parts = parts
    this.#thread = parts.thread
  }

  /** The state at the start of the run. */
  get state(): JsonObject {
    const { set, removed = [] } = this.#parts.intent.input.state ?? {}
    const { temp } = keptValues(this.#parts.opening.checkpoint)
    if (!set && !temp && removed.length === 0) return this.#thread.state
    const state = { ...this.#thread.state, ...temp, ...set }
    for (const key of removed) delete state[key]
    return state
  }

  /** Loads the history and stores what the run begins with. Contract: answers are taken once; if the process dies, the run can be continued, or its effects are unknown and it is not repeated. */
  async open(): Promise<void> {
    const { runner, runId, thread, opening, intent, fresh = false, from } = this.#parts
    if (opening.continues) {
      const { before, own } = await historyFrom(runner, thread.ref, runId, from)
      this.#finds(before)
      this.#given = own
      this.#beginsWith(own)
      return
    }
    const given = [...opening.messages, ...(opening.next ?? [])]
    const { before, shown } = await findHistory(runner, thread, { runId, fresh, given })
    this.#finds(before, shown)
    this.#given = opening.drops ? this.#openCalls(opening.messages).answered(opening.messages) : opening.messages
    if (runner.durability === 'step') await this.#storeBeginning()
    else if (intent.answers) await this.#write({ ...this.#taken(), ...processedOf(intent, this.next) })
  }

  #finds(before: StoredHistory, shown: StoredHistory = before): void {
    this.#before = before
    this.#shown = shown
    this.#history = shown.repaired
  }

  /** Whether the agents see all messages of the thread. */
  get seesAll(): boolean {
    return this.#shown.whole
  }

  /** The input of the agents. */
  begin(): AgentInput | ResumeInfo {
    const { opening, intent, log } = this.#parts
    const messages = this.#history.length === 0 ? this.#given : this.#history.concat(this.#given)
    log.begin(messages)
    return { ...intent.input, messages, ...opening.resumption }
  }

  async #storeBeginning(): Promise<void> {
    const { runner, runId, opening, intent, token, carry } = this.#parts
    const { options, additions, state: { set, removed = [] } = {} } = intent.input
    const { temp, kept } = byLifetime(set ?? {})
    const opened = openedRun({
      agentName: runner.flow.name,
      by: token,
      ...(intent.answers && { answers: intent.answers }),
      ...(opening.next && { next: opening.next }),
      ...(options && { options }),
      ...(additions?.instruction !== undefined && { instruction: additions.instruction }),
      ...(temp && { temp }),
      ...(carry !== undefined && { carry }),
      ...(!this.#shown.whole && { from: this.#shown.messages[0]?.id ?? '' }),
    })
    const { checkpoint } = opening
    const thread = await this.#write({
      set: kept,
      removed,
      messages: this.#given.map((message) => ({ runId, message })),
      openCalls: checkpoint ? this.#openCalls(this.#given).besides(callsRunAgain(checkpoint)) : [],
      ...this.#taken(),
      ...processedOf(intent),
      journal: { runId, entries: [opened] },
    })
    this.#beginsWith(this.#given, thread)
  }

  /** Notes that the run has taken the checkpoint, or has dropped it. */
  #taken(): Pick<ThreadCommit, 'checkpoint'> {
    const { opening, runId } = this.#parts
    return { checkpoint: opening.checkpoint ? { ...opening.checkpoint, resumedBy: runId } : null }
  }

  #beginsWith(given: readonly Message[], thread: Thread = this.#thread): void {
    this.#thread = thread
    this.#stored = { suspended: undefined, messages: given, unfinished: true }
  }

  /** How many transfers are left to a run that goes on after a question. */
  get transfersLeft(): number | undefined {
    return keptValues(this.#parts.opening.checkpoint).transfers
  }

  /** What the callbacks have kept with the run whose questions this one answers. */
  get kept(): JsonObject | undefined {
    return keptValues(this.#parts.opening.checkpoint).callbacks
  }

  /** Makes the checkpoint of a run that stops here. */
  checkpoint(
    suspended: Suspended,
    state: State,
    { transfers, callbacks }: Pick<KeptValues, 'transfers' | 'callbacks'>,
  ): Checkpoint {
    const { runner, runId, opening } = this.#parts
    const kept = {
      ...temporary(state),
      ...(transfers !== undefined && { transfers }),
      ...(callbacks && { callbacks }),
    }
    const checkpoint = makeCheckpoint(runner.flow.name, runId, suspended, opening.checkpoint, kept)
    return withWaiting(checkpoint, this.next.left)
  }

  /** Stores the changes and removes the journal. Contract: one commit for each run, and one before it if the run ends with a question. A message that nobody has taken stays with the question, or enters the thread. */
  commit(state: State, suspended: Checkpoint | undefined): Promise<void> {
    return this.#commit(state, suspended)
  }

  /** Stores what is left, and releases the lease with it if it is that of the run. */
  commitLast(state: State): Promise<void> {
    return this.#commit(state, this.suspended, this.#parts.writeLast)
  }

  async #commit(state: State, suspended: Checkpoint | undefined, writeLast?: ThreadWrite): Promise<void> {
    const { runId, intent, log } = this.#parts
    if (!suspended) this.next.take()
    log.settle()
    const said = [...this.#given, ...log.newMessages]
    const calls = this.#openCalls(said)
    const all = suspended ? said : calls.answered(said)
    const stored = this.#stored
    if (stored && !stored.unfinished && stored.suspended === suspended && stored.messages.length === all.length) return
    const ids = new Set(stored?.messages.map(({ id }) => id))
    const fresh = all.filter(({ id }) => !ids.has(id))
    const placed = placeChanges(runId, fresh, this.#thread.state, this.#changesIn(fresh))
    const change: ThreadCommit = {
      ...changesAfter(placed.state, state),
      messages: placed.messages,
      openCalls: suspended ? calls.besides(callsRunAgain(suspended)) : [],
      checkpoint: suspended ?? null,
      ...(stored ? stored.unfinished && { journal: null } : processedAtEnd(intent)),
      ...(writeLast && { release: true }),
    }
    const { version } = this.#thread
    this.#thread = await this.#write(change, writeLast ?? this.#parts.write)
    const messages = [...(stored?.messages ?? []), ...fresh]
    this.#stored = { suspended, messages, unfinished: false }
    // If the commit was repeated, another run may have written since its first attempt.
    if (this.#thread.version === version + 1) this.#keep(messages)
  }

  /** Keeps the history for the next run. Contract: a message that the thread had before is not stored again, so that history is read anew. */
  #keep(added: readonly Message[]): void {
    const { runner, runId, opening } = this.#parts
    const given = [...this.#given, ...(opening.next ?? [])]
    if ((opening.continues && !this.#before.whole) || mayKnow(this.#before, added, runId, given)) return
    // Copies, because callers have these messages too and may change them.
    const copies = added.map((message) => ({ ...message }))
    runner.histories.keep(this.#thread, this.#before.with(copies, runId))
  }

  /** How the state has changed up to each of some messages; what the run was given counts for the last message that it was given. */
  #changesIn(fresh: readonly Message[]): (message: Message) => KeyChanges | undefined {
    const { intent, log } = this.#parts
    const { set = {}, removed = [] } = intent.input.state ?? {}
    const given = this.#stored ? undefined : (this.#given.at(-1) ?? fresh[0])
    return (message) => {
      const changes = log.changesAt(message)
      return message === given ? mergeChanges(noteChanges(undefined, set, removed), changes) : changes
    }
  }

  /** Ends a run that was stopped before its agents ran. Contract: a question that it has not answered with messages stays open. */
  async abandon(): Promise<void> {
    if (!this.#stored?.unfinished) return
    const { opening } = this.#parts
    const { checkpoint, next = [] } = opening
    const asked = checkpoint && this.#given.length === 0
    if (asked) await this.#write({ checkpoint: withWaiting(checkpoint, next), journal: null })
    else await this.#write({ checkpoint: null, openCalls: [], journal: null })
  }

  #write(
    commit: ThreadCommit,
    write: ThreadWrite = (work) => withRetries(this.#parts.runner.clock, work),
  ): Promise<Thread> {
    const { runner, thread, token } = this.#parts
    return write(() => runner.store.threads.commit(thread.ref, commit, token))
  }

  #openCalls(said: readonly Message[]): OpenCalls {
    const { checkpoint, forkedFrom } = this.#parts.thread
    return new OpenCalls(checkpoint !== undefined || forkedFrom !== undefined, this.#history, said)
  }
}

/** The foreign ids that a run has processed, without those of messages that are not stored yet. */
function processedOf({ input: { processed } }: RunIntent, later?: WaitingMessages): Pick<ThreadCommit, 'processed'> {
  if (!processed) return {}
  const waiting = new Set(later?.left.map(({ id }) => id))
  return { processed: processed.filter((id) => !waiting.has(id)) }
}

/** Those that are stored with a run whose beginning was not. */
function processedAtEnd(intent: RunIntent): Pick<ThreadCommit, 'processed'> {
  const { answers, input } = intent
  return answers ? { processed: (input.messages ?? []).map(({ id }) => id) } : processedOf(intent)
}
