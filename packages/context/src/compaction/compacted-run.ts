import {
  type ChatModel,
  type Content,
  type ErrorInfo,
  type Json,
  KernelError,
  type Message,
  type ModelRequest,
  type RunContext,
} from '@troupe/kernel'
import { estimateTokens } from '@troupe/kernel/history'
import { type Compacted, compactedHistory, readCompacted } from './compacted.ts'
import type { Place } from './place.ts'
import { fixedTokens, type RequestSize, readSize } from './request-size.ts'
import { splitHistory } from './split-history.ts'
import { askForUpdate } from './summarise.ts'
import { EMPTY, type Summary, updatedSummary } from './summary.ts'
import { inThread } from './thread-of.ts'
import { shortened, transcriptPieces } from './transcript.ts'

/** The checked options of `compaction`. */
export interface CompactionSettings {
  readonly model: ChatModel
  readonly maxTokens: number
  readonly keepTokens: number
}

const CHARS_PER_TOKEN = 4
/** What a model summarises at once, as a share of `maxTokens`: what is cut off at the limit, and some more. */
const PIECE = 1.25
/** The least that is cut off, as a share of what stays. */
const WORTHWHILE = 0.5
/** An estimate is not trusted to be further off than this. */
const LARGEST_SCALE = 8

/** The compaction of one run of an agent. Contract: what it decides depends on the history and the state alone, so that a replay decides the same. */
export class CompactedRun {
  readonly #settings: CompactionSettings
  readonly #place: Place
  /** The name of the tool that reads what was cut off, if the agent has it. */
  readonly tool: string | undefined
  /** What this run has cut off, by id: its own messages are not in the thread before it has ended. */
  readonly cutOff: Map<string, Message> = new Map()
  /** A summary could not be written: the run goes on without. */
  #failed = false
  /** The value of the state that was read last. */
  #seen: Json | undefined
  #compacted: Compacted | undefined

  constructor(settings: CompactionSettings, place: Place, tool: string | undefined) {
    this.#settings = settings
    this.#place = place
    this.tool = tool
  }

  /** What was cut off so far. */
  compacted(ctx: RunContext): Compacted | undefined {
    const { summary, inherited } = this.#place
    const value = ctx.state.get(summary) ?? (inherited === undefined ? undefined : ctx.state.get(inherited))
    if (value !== this.#seen) {
      this.#seen = value
      this.#compacted = readCompacted(value)
    }
    return this.#compacted
  }

  /** Notes how large a request was. Contract: in the state, because a replay does not call the model. */
  note(ctx: RunContext, request: ModelRequest, inputTokens: number): void {
    if (inputTokens < this.#settings.maxTokens || ctx.state.get(this.#place.due) !== undefined) return
    ctx.state.set(this.#place.due, [inputTokens, fixedTokens(request)])
  }

  /** Whether the tool that reads what was cut off has nothing to read yet. */
  hidesTool(ctx: RunContext): boolean {
    return this.tool !== undefined && this.compacted(ctx) === undefined
  }

  /** The history as the model is to see it; undefined if it is so already. */
  rewrite(ctx: RunContext, messages: readonly Message[]): readonly Message[] | undefined | Promise<readonly Message[]> {
    const compacted = this.compacted(ctx)
    const due = ctx.state.get(this.#place.due)
    const shown = compacted ? this.#show(ctx, compacted, messages) : messages
    if (due !== undefined && !this.#failed) return this.#compact(ctx, shown, readSize(due, this.#settings.maxTokens))
    return shown === messages ? undefined : shown
  }

  /** Compacts a history that the model has refused; undefined if that is not possible. */
  async compactNow(ctx: RunContext, request: ModelRequest): Promise<readonly Message[] | undefined> {
    const { messages } = request
    const size = { tokens: this.#settings.maxTokens, fixed: fixedTokens(request) }
    const shorter = await this.#compact(ctx, messages, size, 0)
    return shorter === messages ? undefined : shorter
  }

  #show(ctx: RunContext, compacted: Compacted, messages: readonly Message[]): readonly Message[] {
    const shown = compactedHistory(compacted, messages, this.tool !== undefined, inThread(ctx))
    if (shown !== messages) this.#noteCutOff(messages, shown)
    return shown
  }

  #noteCutOff(messages: readonly Message[], shown: readonly Message[]): void {
    const kept = new Set(shown.map(({ id }) => id))
    for (const message of messages) if (!kept.has(message.id)) this.cutOff.set(message.id, message)
  }

  /** Contract: gives the same list if there is less to cut off than a share of what stays, so that a history that stays too large is not summarised in each turn. */
  async #compact(
    ctx: RunContext,
    messages: readonly Message[],
    { tokens, fixed }: RequestSize,
    least = WORTHWHILE,
  ): Promise<readonly Message[]> {
    const { keepTokens } = this.#settings
    const former = this.compacted(ctx)
    // The real tokens tell how far the estimate is off for this conversation.
    const real = (tokens - fixed) / Math.max(tokensOf(messages), 1)
    const scale = Math.min(Math.max(real, 1), LARGEST_SCALE)
    const keep = keepTokens / scale
    const split = splitHistory(messages, former, keep, inThread(ctx))
    if (!split || tokensOf(split.past) < least * keep) return messages
    const { notes, past, cut, request } = split
    const summary = await this.#summarise(ctx, former?.summary ?? EMPTY, past, scale)
    if (!summary) return messages
    const compacted: Compacted = {
      format: 1,
      cut,
      summary,
      ...(notes.length > 0 && { notes }),
      ...(request !== undefined && { request: shortRequest(request, (CHARS_PER_TOKEN * keep) / 2) }),
    }
    ctx.state.set(this.#place.summary, compacted as Json)
    ctx.state.delete(this.#place.due)
    await ctx.emit('compaction', { messages: past.length, tokens: Math.round(tokens), lines: summary.lines.length })
    return this.#show(ctx, compacted, messages)
  }

  /** Contract: each piece is a step of its own, so that a run that goes on after a crash writes no part of a summary twice; undefined if the model fails. */
  async #summarise(
    ctx: RunContext,
    former: Summary,
    past: readonly Message[],
    scale: number,
  ): Promise<Summary | undefined> {
    const { model, maxTokens, keepTokens } = this.#settings
    let summary = former
    for (const piece of transcriptPieces(past, Math.max(1, Math.floor((PIECE * maxTokens) / scale)))) {
      const id = ctx.ids.next()
      const so = summary
      const answer = await ctx.perform('compaction', () => answered(ctx, askForUpdate(model, ctx, id, so, piece)))
      if (answer.error) {
        this.#failed = true
        await ctx.emit('compaction-failed', { error: answer.error as Json })
        return undefined
      }
      summary = updatedSummary(summary, answer.text, CHARS_PER_TOKEN * keepTokens)
    }
    return summary
  }
}

/** The answer of the model, or why there is none. Contract: a run that is stopped stays stopped. */
async function answered(
  ctx: RunContext,
  answer: Promise<string>,
): Promise<{ readonly text: string; readonly error?: ErrorInfo }> {
  try {
    return { text: await answer }
  } catch (error) {
    if (ctx.signal.aborted || KernelError.is(error, 'ABORTED')) throw error
    return { text: '', error: KernelError.from(error, 'MODEL_FAILED').toJSON() }
  }
}

function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateTokens(message), 0)
}

/** A request of a person without the middle of its texts, if they are long. */
function shortRequest(request: Content, maxChars: number): Content {
  if (typeof request === 'string') return shortened(request, maxChars)
  return request.map((part) => (part.type === 'text' ? { ...part, text: shortened(part.text, maxChars) } : part))
}
