import { KernelError, type Message, type Thread, type ThreadRef, type ThreadStore } from '@troupe/kernel'
import { unknownResult } from '@troupe/kernel/history'
import { pages } from '@troupe/kernel/kit'
import type { HistoryStart } from './history-window.ts'
import { StoredHistory } from './stored-history.ts'

const PAGE = 1_000

/** A history, and apart from it what the run has stored itself. */
export interface LoadedMessages {
  readonly before: StoredHistory
  readonly own: readonly Message[]
}

/** Loads the whole history of a thread; what the run `own` has stored itself is apart. */
export async function loadMessages(threads: ThreadStore, ref: ThreadRef, own: string): Promise<LoadedMessages> {
  const messages: Message[] = []
  const ownMessages: Message[] = []
  const runs = new Set<string>()
  for await (const page of pages(PAGE, (query) => threads.messages(ref, query))) {
    for (const { message, runId } of page) {
      if (runId === own) ownMessages.push(message)
      else messages.push(message)
      runs.add(runId)
    }
  }
  return { before: new StoredHistory(messages, runs), own: ownMessages }
}

/** Loads the newest messages of a thread. Contract: reads pages, newest first, until the history can begin. */
export async function loadNewest(
  threads: ThreadStore,
  ref: ThreadRef,
  own: string,
  { page, startIn }: HistoryStart,
): Promise<LoadedMessages> {
  const [newest, ownNewest, runs]: [Message[], Message[], Set<string>] = [[], [], new Set()]
  let after: number | undefined
  for (let limit = Math.min(page, PAGE); ; limit = Math.min(2 * limit, PAGE)) {
    const rows = await threads.messages(ref, { newestFirst: true, limit, ...(after !== undefined && { after }) })
    for (const { message, runId } of rows) {
      if (runId === own) ownNewest.push(message)
      else newest.push(message)
      runs.add(runId)
    }
    after = rows.at(-1)?.seq
    const whole = rows.length < limit
    const messages = newest.toReversed()
    const start = startIn({ messages, older: whole ? 'none' : 'unread' })
    if (start === undefined) continue
    const before = new StoredHistory(messages.slice(start), runs, whole && start === 0)
    return { before, own: ownNewest.reverse() }
  }
}

/** Contract: throws `RUN_ID_TAKEN` if the thread has a run of this id, and `VALIDATION_FAILED` if it has one of the given messages. */
export function checkNew(history: StoredHistory, runId: string, given: readonly Message[]): void {
  if (history.runs.has(runId)) {
    throw new KernelError('RUN_ID_TAKEN', `run ${runId}: the thread already has a run with this id; use a new runId`)
  }
  const known = history.known(given)
  if (known) throw alreadyThere(runId, known.id)
}

/** Whether a thread may have had some messages that a run has added. Contract: of a thread that was not read whole, the ids of the run and those of the messages `given` to it, which were looked up, are sure to be new. */
export function mayKnow(
  history: StoredHistory,
  added: readonly Message[],
  runId: string,
  given: readonly Message[],
): boolean {
  if (history.known(added)) return true
  if (history.whole) return false
  const sure = new Set(given.map(({ id }) => id))
  return added.some(({ id }) => !id.startsWith(`${runId}/`) && !sure.has(id))
}

/** The error for a message that the thread has already. */
export function alreadyThere(runId: string, messageId: string): KernelError {
  const message = `run ${runId}: the thread already has message ${messageId}; send new messages only`
  return new KernelError('VALIDATION_FAILED', message)
}

/** A call of a thread that has no result yet. */
export type ThreadOpenCall = Thread['openCalls'][number]

/** The calls of a thread that do not have a result yet. */
export class OpenCalls {
  readonly #open: Map<string, ThreadOpenCall> = new Map()

  /** A stored history has open calls only if the thread `waits`, so otherwise it is not searched. */
  constructor(waits: boolean, history: readonly Message[], said: readonly Message[]) {
    if (waits) for (const message of history) this.#add(message)
    for (const message of said) this.#add(message)
  }

  #add(message: Message): void {
    if (message.role === 'tool') this.#open.delete(message.callId)
    if (message.role !== 'assistant') return
    for (const { id: callId, name } of message.toolCalls ?? []) {
      this.#open.set(callId, { callId, name, agentName: message.agentName ?? '' })
    }
  }

  /** The calls that wait for a result and not for an answer. */
  besides(runAgain: ReadonlySet<string>): readonly ThreadOpenCall[] {
    return [...this.#open.values()].filter(({ callId }) => !runAgain.has(callId))
  }

  /** Adds a neutral result for every open call, after the results that the calls beside it have. */
  answered(said: readonly Message[]): readonly Message[] {
    if (this.#open.size === 0) return said
    const made = new Set(said.flatMap(callsOf))
    const sound: Message[] = []
    let open = [...this.#open.keys()].filter((callId) => !made.has(callId))
    for (const message of said) {
      if (message.role !== 'tool') open = this.#answer(open, sound)
      sound.push(message)
      if (message.role === 'assistant') open = callsOf(message).filter((callId) => this.#open.has(callId))
    }
    this.#answer(open, sound)
    return sound
  }

  #answer(callIds: readonly string[], sound: Message[]): string[] {
    for (const callId of callIds) {
      const { name = '', agentName } = this.#open.get(callId) ?? {}
      sound.push(unknownResult({ id: callId, name }, agentName))
    }
    return []
  }
}

function callsOf(message: Message): string[] {
  return message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : []
}
