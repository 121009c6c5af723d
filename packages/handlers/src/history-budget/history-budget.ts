import { type AgentHandler, type Awaitable, contextKey, type Message, type RunContext } from '@troupe/kernel'
import { estimateTokens } from '@troupe/kernel/history'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { isWhole } from '../is-whole.ts'
import { splitHistory } from './split-history.ts'

/** Options of `historyBudget`. */
export interface HistoryBudgetOptions {
  /** The budget of the messages; instruction and tools are not counted. */
  readonly maxTokens: number
  /** Counts the tokens of a message. Contract: called once per message. @default estimateTokens */
  readonly count?: (message: Message) => number
  /** How many of the latest messages always stay, with the exchange or turn they belong to. @default 1 */
  readonly keepLast?: number
  /** The size to which a history over the budget is cut; the smaller it is, the less often the history is cut. @default maxTokens, half of it with `summarize` */
  readonly trimTo?: number
  /** Summarises the dropped messages. Contract: `messages` begins with an earlier summary; empty text means no summary; throwing ends the run. */
  readonly summarize?: (messages: readonly Message[], ctx: RunContext) => Awaitable<string>
}

const WHO = 'historyBudget'

/**
 * Keeps the history that the model sees under a budget of tokens.
 * Contract: drops the oldest exchanges whole; never the last user message, nor a call without its results.
 * @example chatModelAgent({ name: 'guide', model, handlers: [historyBudget({ maxTokens: 100_000 })] })
 */
export function historyBudget(options: HistoryBudgetOptions): AgentHandler {
  checkOptionNames(WHO, options, { maxTokens: true, count: true, keepLast: true, trimTo: true, summarize: true })
  const { maxTokens, count, keepLast = 1, summarize } = options
  const { trimTo = summarize ? Math.ceil(maxTokens / 2) : maxTokens } = options
  checkOption(isWhole(maxTokens, 1), WHO, 'maxTokens must be a whole number from 1 on', maxTokens)
  checkOption(count === undefined || typeof count === 'function', WHO, 'count must be a function', count)
  checkOption(isWhole(keepLast, 1), WHO, 'keepLast must be a whole number from 1 on', keepLast)
  checkOption(isWhole(trimTo, 0) && trimTo <= maxTokens, WHO, 'trimTo must be a whole number up to maxTokens', trimTo)
  checkOption(
    summarize === undefined || typeof summarize === 'function',
    WHO,
    'summarize must be a function',
    summarize,
  )
  const cost = count ? memoized(count) : estimateTokens
  const summaryId = contextKey<string>('historyBudget.summary')

  return {
    name: WHO,
    beforeModelRewriteHistory(ctx, messages) {
      const total = sum(messages, cost)
      if (total <= maxTokens) return
      const split = splitHistory(messages, { cost, excess: total - trimTo, keepLast, summaryId: ctx.get(summaryId) })
      if (!split) return
      const { head, kept, dropped } = split
      const short = head.concat(kept)
      const room = maxTokens - sum(short, cost)
      if (!summarize || room <= 0) return short
      return summaryOf(dropped, ctx).then((summary) =>
        summary && cost(summary) <= room
          ? { messages: [...head, summary, ...kept], ctx: ctx.with(summaryId, summary.id) }
          : short,
      )
    },
  }

  /** Contract: undefined for an empty summary. */
  async function summaryOf(dropped: readonly Message[], ctx: RunContext): Promise<Message | undefined> {
    // A run that goes on after a crash has the same summary, and does not pay for it again.
    const text: unknown = await ctx.perform('summary', async () => summarize?.(dropped, ctx))
    checkOption(typeof text === 'string', WHO, 'summarize must return text', text)
    const content = `Summary of the conversation so far:\n${text}`
    const summary: Message = { id: ctx.ids.next(), role: 'user', content }
    return text === '' ? undefined : summary
  }
}

function sum(messages: readonly Message[], cost: (message: Message) => number): number {
  let total = 0
  for (const message of messages) total += cost(message)
  return total
}

/** Remembers the count of each message: a tokenizer is slow, and a message never changes. */
function memoized(count: (message: Message) => number): (message: Message) => number {
  const known = new WeakMap<Message, number>()
  return (message) => {
    const before = known.get(message)
    if (before !== undefined) return before
    const tokens = count(message)
    checkOption(Number.isFinite(tokens) && tokens >= 0, WHO, 'count must return a number from 0 on', tokens)
    known.set(message, tokens)
    return tokens
  }
}
