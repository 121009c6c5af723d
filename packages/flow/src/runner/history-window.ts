import type { Message, Thread } from '@troupe/kernel'
import { estimateTokens } from '@troupe/kernel/history'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'

/** How much of a long thread the runs of a runner load and show. Contract: whole turns; the last turn is always shown. */
export interface HistoryOptions {
  /** At most this many messages before the run. @default no limit */
  readonly last?: number
  /** At most about this many tokens. @default no limit */
  readonly tokens?: number
  /** Names the first message to show, such as `compactedFrom` of `@troupe/context`, which loads a thread from where its summary ends; `last` and `tokens` count if it names none. @default none */
  readonly from?: (thread: Thread) => string | undefined
  /** Counts the tokens of a message. @default `estimateTokens` of `@troupe/kernel/history`: a quarter of the characters, 1,600 for a file, 4 for the message */
  readonly count?: (message: Message) => number
}

/** The newest messages of a thread, in order. */
export interface NewestMessages {
  readonly messages: readonly Message[]
  /** Whether the thread has older ones: some were left out of a window before, and fit still less now. */
  readonly older: 'none' | 'left-out' | 'unread'
}

/** Finds where a history begins: an index of the messages, or undefined if older ones are needed. */
export interface HistoryStart {
  /** How many messages to read first. */
  readonly page: number
  startIn(newest: NewestMessages): number | undefined
}

const WHO = 'runner'
/** How many messages are read at first if only their tokens count. */
const PAGE = 100

/** The part of a history that a run shows. */
export class HistoryWindow {
  readonly #last: number
  readonly #tokens: number
  readonly #count: (message: Message) => number
  readonly #from: HistoryOptions['from']

  /** Contract: throws `CONFIG_INVALID` for options that are wrong. */
  constructor(options: HistoryOptions) {
    checkOptionNames('runner: history', options, { last: true, tokens: true, from: true, count: true })
    const { last, tokens, from, count = estimateTokens } = options
    for (const [name, value] of Object.entries({ last, tokens })) {
      const fine = value === undefined || (Number.isInteger(value) && value >= 1)
      checkOption(fine, WHO, `history.${name} must be a whole number from 1 on`, value)
    }
    checkOption((last ?? tokens ?? from) !== undefined, WHO, 'history must have last, tokens or from', options)
    checkOption(from === undefined || typeof from === 'function', WHO, 'history.from must be a function', from)
    checkOption(typeof count === 'function', WHO, 'history.count must be a function', count)
    this.#last = last ?? Number.POSITIVE_INFINITY
    this.#tokens = tokens ?? Number.POSITIVE_INFINITY
    this.#count = count
    this.#from = from
  }

  /**
   * Where the window begins: as many whole turns as fit.
   * Contract: depends on the messages alone, however many older ones are known; the last turn, calls with their results and the calls that are `awaited` are in it.
   */
  beginning(awaited: readonly string[], thread: Thread): HistoryStart {
    const from = this.#from?.(thread)
    if (from !== undefined) return { page: PAGE, startIn: (newest) => startAt(from, newest, awaited) }
    // One more, to see whether there are older ones.
    const page = Number.isFinite(this.#last) ? this.#last + 1 : PAGE
    return { page, startIn: (newest) => this.#startIn(newest, awaited) }
  }

  #startIn({ messages, older }: NewestMessages, awaited: readonly string[]): number | undefined {
    const missing = new Set(awaited)
    let start: number | undefined
    let tokens = 0
    for (let i = messages.length - 1; i >= 0; i--) {
      const message = messages[i] as Message
      tokens += this.#count(message)
      const fits = messages.length - i <= this.#last && tokens <= this.#tokens
      if (!fits && start !== undefined) return start
      pair(message, missing)
      if (message.role === 'user' && missing.size === 0) start = i
    }
    if (older === 'none') return 0
    return older === 'left-out' ? start : undefined
  }
}

/** The place of a message, or that of an earlier call that is awaited, or whose result is shown. */
function startAt(
  messageId: string,
  { messages, older }: NewestMessages,
  awaited: readonly string[],
): number | undefined {
  const missing = new Set(awaited)
  let passed = false
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i] as Message
    pair(message, missing)
    passed ||= message.id === messageId
    if (passed && missing.size === 0) return i
  }
  return older === 'none' ? 0 : undefined
}

/** Where a history began before: at this message; without one, where the thread begins. */
export function beginningAt(messageId: string): HistoryStart {
  return {
    page: PAGE,
    startIn({ messages, older }) {
      const at = messages.findIndex(({ id }) => id === messageId)
      return at < 0 && older === 'none' ? 0 : at < 0 ? undefined : at
    },
  }
}

/** Notes which calls are still to come, going back through a history. */
function pair(message: Message, missing: Set<string>): void {
  if (message.role === 'tool') missing.add(message.callId)
  if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) missing.delete(id)
}
