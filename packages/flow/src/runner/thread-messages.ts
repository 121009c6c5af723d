import { KernelError, type Message, type Thread, type ThreadRef, type ThreadStore } from '@troupe/kernel'
import { unknownResult } from '@troupe/kernel/history'
import { pages } from '@troupe/kernel/kit'
import { StoredHistory } from './stored-history.ts'

const PAGE = 1_000

/** Loads the whole history of a thread; what the run `own` has stored itself is apart. */
export async function loadMessages(
  threads: ThreadStore,
  ref: ThreadRef,
  own: string,
): Promise<{ readonly before: StoredHistory; readonly own: readonly Message[] }> {
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

/** Contract: throws `RUN_ID_TAKEN` if the thread has a run of this id, and `VALIDATION_FAILED` if it has one of the given messages. */
export function checkNew(history: StoredHistory, runId: string, given: readonly Message[]): void {
  if (history.runs.has(runId)) {
    throw new KernelError('RUN_ID_TAKEN', `run ${runId}: the thread already has a run with this id; use a new runId`)
  }
  const known = history.known(given)
  if (!known) return
  const message = `run ${runId}: the thread already has message ${known.id}; send new messages only`
  throw new KernelError('VALIDATION_FAILED', message)
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
