import {
  type AgentHandler,
  type ChatModel,
  contextKey,
  KernelError,
  type Message,
  type ModelPart,
  type ModelRequest,
  type RunContext,
  type Store,
  stream,
} from '@troupe/kernel'
import { checkModel, checkOption, checkOptionNames, pipe, sinkTo } from '@troupe/kernel/kit'
import { withoutTool } from '../without-tool.ts'
import { CompactedRun, type CompactionSettings } from './compacted-run.ts'
import { placeOf } from './place.ts'
import { readHistoryTool } from './read-history-tool.ts'
import { threadOf } from './thread-of.ts'

/** Options of `compaction`. */
export interface CompactionOptions {
  /** Writes the summaries; a small model will do. */
  readonly model: ChatModel
  /** The input tokens of a model call, with instruction and tools, after which the history is compacted. @default 100_000 */
  readonly maxTokens?: number
  /** About how many tokens of the newest messages stay as they are; the summary has no more either. @default a fifth of `maxTokens` */
  readonly keepTokens?: number
  /** Where the thread is stored: with it, the model gets the tool `read_history` once something was cut off. @default none */
  readonly store?: Pick<Store, 'threads'>
  /** What `read_history` does to each message before it searches and cuts it, such as redaction. @default nothing */
  readonly clean?: (message: Message) => Message
}

const WHO = 'compaction'
const NAMES = { model: true, maxTokens: true, keepTokens: true, store: true, clean: true } as const

/** The compaction of the run that a context belongs to. */
const RUN = contextKey<CompactedRun>('context.compaction')

/**
 * Puts a summary in the place of the older messages when the last model call was too large.
 * Contract: the summary is kept with the thread and updated by the next compaction; the thread keeps all messages. A summary that cannot be written does not end the run.
 * @example chatModelAgent({ name: 'guide', model, handlers: [compaction({ model, store })] })
 */
export function compaction(options: CompactionOptions): AgentHandler {
  checkOptionNames(WHO, options, NAMES, { threads: 'store', maxInputTokens: 'maxTokens', keepLast: 'keepTokens' })
  const { model, maxTokens = 100_000, store, clean = (message) => message } = options
  checkModel(WHO, 'model', model)
  checkOption(isWhole(maxTokens), WHO, 'maxTokens must be a whole number from 1 on', maxTokens)
  const { keepTokens = Math.floor(maxTokens / 5) } = options
  const keeps = Number.isInteger(keepTokens) && keepTokens >= 0 && keepTokens < maxTokens
  checkOption(keeps, WHO, 'keepTokens must be a whole number below maxTokens', keepTokens)
  checkOption(store === undefined || Boolean(store?.threads), WHO, 'store must have threads', store)
  checkOption(typeof clean === 'function', WHO, 'clean must be a function', clean)
  const tool = store && { tool: readHistoryTool(store.threads, clean, (ctx) => ctx.get(RUN)), returnDirectly: false }
  const settings: CompactionSettings = { model, maxTokens, keepTokens }

  return {
    name: WHO,
    beforeAgent(ctx, config) {
      const offered = tool && ctx.depth === 0 && !config.tools.some((meta) => meta.tool.name === tool.tool.name)
      if (offered) config.tools.push(tool)
      return ctx.with(
        RUN,
        new CompactedRun(settings, placeOf(ctx, threadOf(ctx)?.branch), offered ? tool.tool.name : undefined),
      )
    },
    beforeModelRewriteHistory(ctx, messages) {
      return ctx.get(RUN)?.rewrite(ctx, messages)
    },
    wrapModelCall(ctx, request, next) {
      const run = ctx.get(RUN)
      return run ? watched(run, ctx, request, next) : next(ctx, request)
    },
  }
}

type Next = (ctx: RunContext, request: ModelRequest) => AsyncIterable<ModelPart>

/** Calls the model and notes how large the request was. Contract: a request that the model refuses as too long is compacted and sent once more. */
function watched(run: CompactedRun, ctx: RunContext, given: ModelRequest, next: Next): AsyncIterable<ModelPart> {
  const request = run.tool !== undefined && run.hidesTool(ctx) ? withoutTool(given, run.tool) : given
  return stream<ModelPart>(async (sink) => {
    let begun = false
    const call = (asked: ModelRequest) =>
      pipe(
        next(ctx, asked),
        sinkTo(sink, (part: ModelPart) => {
          begun = true
          if (part.type === 'finish') run.note(ctx, asked, part.usage.inputTokens)
          return sink.write(part)
        }),
      )
    try {
      await call(request)
    } catch (error) {
      if (begun || !KernelError.is(error, 'MODEL_CONTEXT_EXCEEDED')) throw error
      const messages: readonly Message[] | undefined = await run.compactNow(ctx, request)
      if (!messages) throw error
      await call({ ...given, messages })
    }
  })
}

function isWhole(value: number): boolean {
  return Number.isInteger(value) && value >= 1
}
