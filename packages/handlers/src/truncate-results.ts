import { type AgentHandler, type Content, type Part, textOf } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { isWhole } from './is-whole.ts'

/** Options of `truncateResults`. */
export interface TruncateResultsOptions {
  /** Characters of one result, including the note about those left out; at least 100. @default 20_000 */
  readonly maxChars?: number
  /** The end of the text to keep. @default 'both' */
  readonly keep?: 'both' | 'head' | 'tail'
}

const WHO = 'truncateResults'
const SHARES = { both: 0.5, head: 1, tail: 0 }

/**
 * Shortens large tool results for the model; `display`, `data` and files stay as they are.
 * @example chatModelAgent({ name: 'guide', model, tools: [readLog], handlers: [truncateResults({ keep: 'tail' })] })
 */
export function truncateResults(options: TruncateResultsOptions = {}): AgentHandler {
  checkOptionNames(WHO, options, { maxChars: true, keep: true })
  const { maxChars = 20_000, keep = 'both' } = options
  checkOption(isWhole(maxChars, 100), WHO, 'maxChars must be a whole number from 100 on', maxChars)
  checkOption(Object.hasOwn(SHARES, keep), WHO, "keep must be 'both', 'head' or 'tail'", keep)
  return {
    name: WHO,
    async wrapInvokableToolCall(ctx, input, next) {
      const result = await next(ctx, input)
      const content = truncated(result.content, maxChars, SHARES[keep])
      return content === result.content ? result : { ...result, content }
    },
  }
}

/** Cuts the text. Contract: returns the same content if it is short enough; several texts are measured and cut as one. */
function truncated(content: Content, maxChars: number, headShare: number): Content {
  const text = textOf(content)
  if (text.length <= maxChars) return content
  const room = maxChars - noteOf(text.length).length
  const head = Math.floor(room * headShare)
  const from = splitsPair(text, head) ? head - 1 : head
  const rest = text.length - (room - head)
  const to = splitsPair(text, rest) ? rest + 1 : rest
  const note = noteOf(to - from)
  if (typeof content === 'string') return text.slice(0, from) + note + text.slice(to)
  return cutParts(content, from, to, note)
}

function cutParts(parts: readonly Part[], from: number, to: number, note: string): readonly Part[] {
  const kept: Part[] = []
  let start = 0
  for (const part of parts) {
    if (part.type !== 'text') {
      kept.push(part)
      continue
    }
    const text = cutText(part.text, from - start, to - start, note)
    start += part.text.length
    if (text !== '') kept.push(text === part.text ? part : { ...part, text })
  }
  return kept
}

/** Cuts one of several texts; `from` and `to` may be outside of it. Contract: the note is in the first text that is cut. */
function cutText(text: string, from: number, to: number, note: string): string {
  if (text.length <= from || to <= 0) return text
  return text.slice(0, Math.max(0, from)) + (from >= 0 ? note : '') + text.slice(to)
}

function noteOf(leftOut: number): string {
  return `\n[… ${leftOut} characters left out …]\n`
}

function splitsPair(text: string, index: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(Math.max(0, index - 1), index + 1))
}
