import type { Message, Store, ThreadRef } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { checkOption, checkOptionNames, pages } from '@troupe/kernel/kit'
import { awaitedCalls } from './awaited-calls.ts'

/** The options of reading a history. */
export interface HistoryOptions {
  /** The number of messages per page, from 1 to 1000. @default 500 */
  readonly pageSize?: number
  /** The number of latest messages; a few more are returned to keep calls and results together. @default all */
  readonly last?: number
}

/**
 * Loads the messages of a thread, ready for a model: in order, each call with its result, except calls that await one.
 * @example const messages = await loadHistory(store, ref, { last: 200 })
 */
export async function loadHistory(
  store: Pick<Store, 'threads'>,
  ref: ThreadRef,
  options: HistoryOptions = {},
): Promise<readonly Message[]> {
  checkOptionNames('loadHistory', options, { pageSize: true, last: true }, { limit: 'last' })
  const { last } = options
  const pageSize = pageSizeOf(options)
  checkOption(
    last === undefined || (Number.isInteger(last) && last >= 1),
    'loadHistory',
    'last must be a whole number from 1 on',
    last,
  )
  const awaiting = await awaited(store, ref)
  if (last !== undefined) return repairHistory(await latest(store, ref, last, pageSize), { awaiting })
  const messages: Message[] = []
  for await (const page of pages(pageSize, (query) => store.threads.messages(ref, query))) {
    for (const { message } of page) messages.push(message)
  }
  return repairHistory(messages, { awaiting })
}

/**
 * Loads the same messages one by one.
 * Contract: holds at most a page and one incomplete exchange; leaves out a result that comes after a later user message.
 * @example for await (const message of streamHistory(store, ref)) await archive.write(message)
 */
export async function* streamHistory(
  store: Pick<Store, 'threads'>,
  ref: ThreadRef,
  options: Pick<HistoryOptions, 'pageSize'> = {},
): AsyncGenerator<Message, undefined> {
  checkOptionNames('streamHistory', options, { pageSize: true })
  const pageSize = pageSizeOf(options)
  const awaiting = await awaited(store, ref)
  const exchange = new Exchange()
  for await (const page of pages(pageSize, (query) => store.threads.messages(ref, query))) {
    for (const { message } of page) {
      if (exchange.isOverBefore(message)) yield* repairHistory(exchange.take(), { awaiting })
      exchange.add(message)
    }
  }
  yield* repairHistory(exchange.take(), { awaiting })
}

/** Messages that belong together: calls are not separated from their results. */
class Exchange {
  #messages: Message[] = []
  readonly #open: Set<string> = new Set()

  isOverBefore({ role }: Message): boolean {
    return role !== 'tool' && (this.#open.size === 0 || role === 'user')
  }

  add(message: Message): void {
    this.#messages.push(message)
    if (message.role === 'tool') this.#open.delete(message.callId)
    if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) this.#open.add(id)
  }

  take(): readonly Message[] {
    const messages = this.#messages
    this.#messages = []
    this.#open.clear()
    return messages
  }
}

async function awaited({ threads }: Pick<Store, 'threads'>, ref: ThreadRef): Promise<readonly string[]> {
  const thread = await threads.get(ref)
  return thread ? awaitedCalls(thread) : []
}

/** Reads the latest messages. Contract: does not begin with a result, but with the message that has its call. */
async function latest(
  { threads }: Pick<Store, 'threads'>,
  ref: ThreadRef,
  count: number,
  pageSize: number,
): Promise<readonly Message[]> {
  const messages: Message[] = []
  let after: number | undefined
  while (messages.length < count || messages.at(-1)?.role === 'tool') {
    const wanted = Math.max(1, count - messages.length)
    const limit = Math.min(pageSize, wanted)
    const page = await threads.messages(ref, { newestFirst: true, limit, ...(after !== undefined && { after }) })
    for (const { message } of page) messages.push(message)
    const last = page.at(-1)
    if (!last || page.length < limit) break
    after = last.seq
  }
  return messages.reverse()
}

function pageSizeOf({ pageSize = 500 }: HistoryOptions): number {
  checkOption(
    Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= 1000,
    'loadHistory',
    'pageSize must be a whole number from 1 to 1000',
    pageSize,
  )
  return pageSize
}
