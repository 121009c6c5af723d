import {
  type AgentHandler,
  type BlobStore,
  type Content,
  contextKey,
  KernelError,
  type Part,
  type RunContext,
  type Store,
  type ToolMeta,
  textOf,
} from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { withoutTool } from '../without-tool.ts'
import { READ_RESULT, readResultTool } from './read-result-tool.ts'

/** Options of `offload`. */
export interface OffloadOptions {
  /** Where large results are kept: the store of the thread, which has `blobs`. */
  readonly store: Pick<Store, 'blobs'>
  /** A result with more characters is kept outside of the history. @default 20_000 */
  readonly maxChars?: number
  /** How many of its first characters the model sees. @default 1_000 */
  readonly previewChars?: number
}

const WHO = 'offload'
/** The key of the state that says that a thread has results to read. */
const USED_KEY = 'context:offloaded'
const NAMES = { store: true, maxChars: true, previewChars: true } as const

/** The results of a run that no store keeps: its thread is not stored. */
const UNSTORED = contextKey<Map<string, string>>('context.unstoredResults')

/**
 * Keeps large tool results outside of the history: the model sees how they begin, and reads parts of them with `read_result`.
 * Contract: the text is stored before the result enters the history, and lives as long as the thread; files, `display`, `data` and `error` stay. Place it after `truncateResults`, and before `toolCache`, `guardrails` and `redaction`.
 * @example chatModelAgent({ name: 'guide', model, tools: [weather], handlers: [offload({ store })] })
 */
export function offload(options: OffloadOptions): AgentHandler {
  checkOptionNames(WHO, options, NAMES, { blobs: 'store', threshold: 'maxChars', preview: 'previewChars' })
  const { store, maxChars = 20_000, previewChars = 1_000 } = options
  const blobs = store?.blobs as BlobStore
  const isPort = typeof blobs?.put === 'function' && typeof blobs.get === 'function'
  checkOption(isPort, WHO, 'store must be a store with blobs', store)
  checkOption(Number.isInteger(maxChars) && maxChars >= 1, WHO, 'maxChars must be a whole number from 1 on', maxChars)
  const previews = Number.isInteger(previewChars) && previewChars >= 0 && previewChars <= maxChars
  checkOption(previews, WHO, 'previewChars must be a whole number up to maxChars', previewChars)
  const get = async (ctx: RunContext, id: string) => ctx.get(UNSTORED)?.get(id) ?? (await blobs.get(ctx.session, id))
  const reader: ToolMeta = { tool: readResultTool(get, maxChars), returnDirectly: false }

  return {
    name: WHO,
    beforeAgent(ctx, config) {
      if (!config.tools.some(({ tool }) => tool.name === READ_RESULT)) config.tools.push(reader)
      return ctx.with(UNSTORED, new Map())
    },
    wrapModelCall(ctx, request, next) {
      return next(ctx, ctx.state.get(USED_KEY) === true ? request : withoutTool(request, READ_RESULT))
    },
    async wrapInvokableToolCall(ctx, input, next) {
      const result = await next(ctx, input)
      if (input.name === READ_RESULT) return result
      const text = textOf(result.content)
      if (text.length <= maxChars) return result
      const id = ctx.origin === '' ? input.callId : `${ctx.origin}/${input.callId}`
      await put(blobs, ctx, id, text)
      if (ctx.state.get(USED_KEY) !== true) ctx.state.set(USED_KEY, true)
      return { ...result, content: preview(result.content, text, id, previewChars) }
    },
  }
}

async function put(blobs: BlobStore, ctx: RunContext, id: string, text: string): Promise<void> {
  try {
    await blobs.put(ctx.session, id, text)
  } catch (error) {
    if (!KernelError.is(error, 'NOT_FOUND')) throw error
    ctx.get(UNSTORED)?.set(id, text)
  }
}

function preview(content: Content, text: string, id: string, chars: number): Content {
  const end = isHighSurrogate(text, chars - 1) ? chars - 1 : chars
  const note = `[This is the beginning of a result of ${text.length} characters. Read parts of it with ${READ_RESULT}, id ${JSON.stringify(id)}.]`
  const short = end > 0 ? `${text.slice(0, end)}\n${note}` : note
  if (typeof content === 'string') return short
  const others = content.filter((part): part is Exclude<Part, { type: 'text' }> => part.type !== 'text')
  return [{ type: 'text', text: short }, ...others]
}

/** Whether a cut after this character would part it from its other half. */
function isHighSurrogate(text: string, index: number): boolean {
  const unit = index < 0 ? 0 : text.charCodeAt(index)
  return unit >= 0xd800 && unit <= 0xdbff
}
