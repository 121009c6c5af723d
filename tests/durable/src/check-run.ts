import type { AgentEvent, EventOf, FullStore, ThreadRef } from '@troupe/kernel'
import { messageOf } from '@troupe/kernel/history'
import type { Effects } from './effects.ts'

/** What is wrong with a run as its reader, its thread and its effects show it; empty if nothing is. */
export async function faultsOf(
  store: FullStore,
  ref: ThreadRef,
  runId: string,
  events: readonly AgentEvent[],
): Promise<readonly string[]> {
  const faults: string[] = []
  const check = (fine: boolean, fault: string) => {
    if (!fine) faults.push(fault)
  }
  const rows = (await store.threads.messages(ref, { limit: 1_000 })).filter((row) => row.runId === runId)
  const stored = rows.map(({ message }) => message).filter(({ role }) => role !== 'user')
  const shown = events.filter((event) => event.runId === runId).flatMap((event) => messageOf(event) ?? [])
  check(same(idsOf(stored), idsOf(shown)), `stored ${idsOf(stored)}, shown ${idsOf(shown)}`)
  for (const message of shown) {
    const other = stored.find(({ id }) => id === message.id)
    check(
      JSON.stringify(other?.content) === JSON.stringify(message.content),
      `message ${message.id} is stored otherwise`,
    )
  }
  const ends = events.filter(({ type, runId: id }) => type === 'run-end' && id === runId)
  check(ends.length === 1, `${ends.length} ends`)
  faults.push(...streamFaults(events))
  const thread = await store.threads.get(ref)
  check(thread?.runId === undefined && thread?.unfinished === undefined, 'the thread is not free')
  return faults
}

/** What is wrong with the order of a reader's events: gaps, duplicates, words of two processes in one message. */
function streamFaults(events: readonly AgentEvent[]): readonly string[] {
  const stream = new ReadStream()
  for (const event of events) stream.read(event)
  return stream.faults
}

/** The messages and calls of a run as a reader gets them. */
class ReadStream {
  readonly faults: string[] = []
  readonly #texts: Map<string, string> = new Map()
  readonly #ended: Set<string> = new Set()
  readonly #calls: Set<string> = new Set()

  read(event: AgentEvent): void {
    if (event.type === 'message-start') {
      this.#check(!this.#texts.has(event.messageId), `message ${event.messageId} starts twice`)
      this.#texts.set(event.messageId, '')
    } else if (event.type === 'text-delta') {
      const { messageId: id, delta } = event
      this.#check(this.#texts.has(id) && !this.#ended.has(id), `a word outside of message ${id}`)
      this.#texts.set(id, (this.#texts.get(id) ?? '') + delta)
    } else if (event.type === 'message-end') this.#end(event)
    else if (event.type === 'tool-end') {
      const key = `${event.runId} ${event.callId}`
      this.#check(!this.#calls.has(key), `call ${key} ends twice`)
      this.#calls.add(key)
    }
  }

  #end({ message: { id, content }, dropped }: EventOf<'message-end'>): void {
    const text = this.#texts.get(id) ?? ''
    this.#check(!this.#ended.has(id), `message ${id} ends twice`)
    this.#ended.add(id)
    this.#check(dropped === true || text === content, `message ${id}: ${text} is not ${content}`)
    const speakers = new Set(text.match(/(?<=\.)\d+(?= )/g))
    this.#check(speakers.size <= 1, `message ${id} has words of ${[...speakers]}`)
  }

  #check(fine: boolean, fault: string): void {
    if (!fine) this.faults.push(fault)
  }
}

/** The calls that must happen once at most and began more often. */
export function repeated(effects: Effects, name = 'send'): readonly string[] {
  return [...effects.begun(name)].filter(([, count]) => count > 1).map(([key]) => key)
}

function idsOf(messages: readonly { readonly id: string }[]): readonly string[] {
  return messages.map(({ id }) => id).sort()
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
