import type { Message, Store, ThreadRef } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'

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
  checkOption(
    last === undefined || (Number.isInteger(last) && last >= 1),
    'loadHistory',
    'last must be a whole number from 1 on',
    last,
  )
  const awaiting = await awaited(store, ref)
  if (last !== undefined) return repairHistory(await latest(store, ref, last, options), { awaiting })
  const messages: Message[] = []
  for await (const page of pages(store, ref, options)) for (const message of page) messages.push(message)
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
  const awaiting = await awaited(store, ref)
  let held: Message[] = []
  const open = new Set<string>()
  for await (const page of pages(store, ref, options)) {
    for (const message of page) {
      const complete = message.role !== 'tool' && (open.size === 0 || message.role === 'user')
      if (complete && held.length > 0) {
        yield* repairHistory(held, { awaiting })
        held = []
        open.clear()
      }
      held.push(message)
      if (message.role === 'tool') open.delete(message.callId)
      if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) open.add(id)
    }
  }
  yield* repairHistory(held, { awaiting })
}

async function awaited({ threads }: Pick<Store, 'threads'>, ref: ThreadRef): Promise<readonly string[]> {
  const { openCalls = [], checkpoint } = (await threads.get(ref)) ?? {}
  const asked = checkpoint?.interrupts.flatMap(({ callId }) => callId ?? []) ?? []
  return [...openCalls.map(({ callId }) => callId), ...asked]
}

async function* pages(
  { threads }: Pick<Store, 'threads'>,
  ref: ThreadRef,
  { pageSize = 500 }: HistoryOptions,
): AsyncGenerator<readonly Message[], undefined> {
  checkPage(pageSize)
  let after = 0
  for (;;) {
    const page = await threads.messages(ref, { after, limit: pageSize })
    const last = page.at(-1)
    if (!last) return
    yield page.map(({ message }) => message)
    if (page.length < pageSize) return
    after = last.seq
  }
}

/** Reads the latest messages. Contract: does not begin with a result, but with the message that has its call. */
async function latest(
  { threads }: Pick<Store, 'threads'>,
  ref: ThreadRef,
  count: number,
  { pageSize = 500 }: HistoryOptions,
): Promise<readonly Message[]> {
  checkPage(pageSize)
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

function checkPage(pageSize: number): void {
  checkOption(
    Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= 1000,
    'loadHistory',
    'pageSize must be a whole number from 1 to 1000',
    pageSize,
  )
}
