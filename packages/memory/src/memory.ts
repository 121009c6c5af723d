import {
  type AgentHandler,
  type Clock,
  type Fact,
  type FactStore,
  KernelError,
  type Owner,
  type Store,
  type Tool,
} from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, safeReport, systemClock } from '@troupe/kernel/kit'
import { bestOf } from './best-of.ts'
import { memoryTools } from './memory-tools.ts'
import { recallHandler } from './recall-handler.ts'

/** Makes an embedding of each text, in their order. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>

/** Options of `memory`. */
export interface MemoryOptions {
  /** Where facts are kept; each owner has its own. */
  readonly store: Pick<Store, 'facts'>
  /** Finds facts by their meaning as well as by their words. @default by words alone */
  readonly embed?: Embed
  /** How many facts are recalled at once, from 1 to 100. @default 8 */
  readonly limit?: number
  /** Receives failures of `embed`, which cost nothing but the search by meaning. @default console.error */
  readonly report?: (error: KernelError) => void
  /** For facts that the app notes itself. @default the system's clock */
  readonly clock?: Pick<Clock, 'now'>
}

/** What is remembered about owners across their threads. */
export interface LongTermMemory {
  /** Shows the model what is known that fits the last user message. */
  readonly handler: AgentHandler
  /** `remember`, `recall` and `forget`, for the model. */
  readonly tools: readonly Tool[]
  /** Contract: a text that the owner has is not noted again. */
  remember(owner: Owner, text: string): Promise<Fact>
  /** The facts that fit a text, the best first. */
  recall(owner: Owner, text: string): Promise<readonly Fact[]>
  /** Forgets facts, or all with `'all'`, and returns how many were there. */
  forget(owner: Owner, seqs: readonly number[] | 'all'): Promise<number>
}

const WHO = 'memory'
const NAMES: OptionNames<MemoryOptions> = { store: true, embed: true, limit: true, report: true, clock: true }

/**
 * Keeps facts about users across conversations, and recalls those that fit.
 * Contract: an owner's facts are never seen, found or changed by another one; forgotten facts are deleted from the store.
 * @example
 * const known = memory({ store })
 * chatModelAgent({ name: 'guide', model, tools: known.tools, handlers: [known.handler] })
 */
export function memory(options: MemoryOptions): LongTermMemory {
  checkOptionNames(WHO, options, NAMES)
  const { store, embed, limit = 8, clock = systemClock } = options
  checkOption(typeof store?.facts?.search === 'function', WHO, 'store must be a Store with facts', store)
  checkOption(embed === undefined || typeof embed === 'function', WHO, 'embed must be a function', embed)
  const isLimit = Number.isInteger(limit) && limit >= 1 && limit <= 100
  checkOption(isLimit, WHO, 'limit must be a whole number from 1 to 100', limit)
  const facts = store.facts as FactStore
  const report = safeReport(options.report)

  const embedding = async (text: string): Promise<readonly number[] | undefined> => {
    try {
      return (await embed?.([text]))?.[0]
    } catch (error) {
      const { message } = KernelError.from(error)
      report(new KernelError('EMBED_FAILED', `${WHO}: embed failed, ${message}`, { cause: error }))
      return undefined
    }
  }

  const remember = async ({ app, user }: Owner, text: string, at: number): Promise<Fact> => {
    const owner = { app, user }
    const found = await embedding(text)
    return facts.add(owner, { text, at, ...(found && { embedding: found }) })
  }

  const recall: LongTermMemory['recall'] = async ({ app, user }, text) => {
    const owner = { app, user }
    const byWords = await facts.search(owner, { text, limit: limit * 2 })
    const found = await embedding(text)
    const near = found ? await facts.near(owner, { embedding: found, limit: limit * 2 }) : []
    return bestOf([byWords, near], limit)
  }

  const forget: LongTermMemory['forget'] = ({ app, user }, seqs) => facts.forget({ app, user }, seqs)

  return {
    handler: recallHandler(recall),
    tools: memoryTools({ remember, recall, forget }),
    remember: (owner, text) => remember(owner, text, clock.now()),
    recall,
    forget,
  }
}
