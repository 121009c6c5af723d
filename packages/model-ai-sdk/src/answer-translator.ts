import type {
  LanguageModelV4File,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import { type FilePart, type FinishReason, KernelError, type ModelPart, type Usage } from '@troupe/kernel'
import { Blocks } from './blocks.ts'
import { toMetadata } from './metadata.ts'
import type { ResponseFormat } from './schema/response-format.ts'
import { RestoredText } from './schema/restored-text.ts'
import { ToolCalls } from './tool-calls.ts'

/** Translates one answer of a provider, part by part. */
export class AnswerTranslator {
  readonly #model: string
  readonly #vendor: string
  readonly #out: ModelPart[] = []
  readonly #blocks = new Blocks(this.#out)
  readonly #calls = new ToolCalls(this.#out)
  readonly #format: ResponseFormat | undefined
  readonly #texts = new Map<string, RestoredText>()
  #answeredBy: string | undefined
  finished = false

  /** Contract: if `format` changes the schema, texts are translated back into the user's shape. */
  constructor(model: string, vendor: string, format?: ResponseFormat) {
    this.#model = model
    this.#vendor = vendor
    this.#format = format && (format.plan || format.wrapped) ? format : undefined
  }

  /** Contract: the list is valid until the next call; throws an error that the provider reports; after `finish` the list is empty. */
  translate(part: LanguageModelV4StreamPart): readonly ModelPart[] {
    this.#out.length = 0
    if (!this.finished) this.#add(part)
    return this.#out
  }

  /** Throws for an answer that ended without `finish`. */
  failIncomplete(): never {
    const message = `${this.#model}: the stream ended before the answer was complete`
    throw new KernelError('MODEL_FAILED', message, { retryable: true })
  }

  #add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#blocks.start(part)
        break
      case 'text-delta':
        this.#blocks.delta(
          this.#format ? { ...part, delta: this.#textOf(part.id, this.#format).write(part.delta) } : part,
        )
        break
      case 'reasoning-delta':
        this.#blocks.delta(part)
        break
      case 'text-end':
        this.#endText(part.id)
        this.#blocks.end(part)
        break
      case 'reasoning-end':
        this.#blocks.end(part)
        break
      case 'tool-input-start':
        if (!part.providerExecuted) this.#blocks.close()
        this.#calls.start(part)
        break
      case 'tool-input-delta':
        this.#calls.delta(part)
        break
      case 'tool-input-end':
        this.#calls.end(part)
        break
      case 'tool-call':
        if (!part.providerExecuted) this.#blocks.close()
        this.#calls.complete(part)
        break
      case 'file':
        this.#blocks.close()
        this.#out.push({ type: 'file', file: toFilePart(part) })
        break
      case 'response-metadata':
        if (part.modelId) this.#answeredBy = `${this.#vendor}:${part.modelId}`
        break
      case 'error':
        throw part.error
      case 'finish':
        this.#finish(part.finishReason, part.usage, part.providerMetadata)
    }
  }

  #textOf(id: string, format: ResponseFormat): RestoredText {
    const text = this.#texts.get(id) ?? new RestoredText(format)
    this.#texts.set(id, text)
    return text
  }

  #endText(id: string): void {
    const delta = this.#texts.get(id)?.end() ?? ''
    this.#texts.delete(id)
    if (delta !== '') this.#blocks.delta({ type: 'text-delta', id, delta })
  }

  #finish({ unified }: LanguageModelV4FinishReason, usage: LanguageModelV4Usage, providerMetadata: unknown): void {
    if (unified === 'interrupted') this.failIncomplete()
    for (const id of [...this.#texts.keys()]) this.#endText(id)
    this.#blocks.finish()
    this.#calls.finish()
    const metadata = toMetadata(providerMetadata)
    this.#out.push({
      type: 'finish',
      reason: REASONS.find((reason) => reason === unified) ?? 'other',
      usage: toUsage(usage),
      ...(this.#answeredBy && { model: this.#answeredBy }),
      ...(metadata && { metadata }),
    })
    this.finished = true
  }
}

const REASONS: readonly FinishReason[] = ['stop', 'length', 'content-filter', 'tool-calls', 'error']

function toUsage({ inputTokens: input, outputTokens: output }: LanguageModelV4Usage): Usage {
  return {
    inputTokens: count(input.total),
    outputTokens: count(output.total),
    ...(output.reasoning !== undefined && { reasoningTokens: count(output.reasoning) }),
    ...(input.cacheRead !== undefined && { cachedInputTokens: count(input.cacheRead) }),
    ...(input.cacheWrite !== undefined && { cacheWriteTokens: count(input.cacheWrite) }),
  }
}

function count(tokens: number | undefined): number {
  return tokens !== undefined && tokens > 0 && Number.isFinite(tokens) ? Math.round(tokens) : 0
}

function toFilePart({ mediaType, data, providerMetadata }: LanguageModelV4File): FilePart {
  const metadata = toMetadata(providerMetadata)
  return {
    type: 'file',
    mediaType,
    ...(data.type === 'url' ? { url: data.url.href } : { data: toBase64(data.data) }),
    ...(metadata && { metadata }),
  }
}

function toBase64(data: Uint8Array | string): string {
  if (typeof data === 'string') return data
  let text = ''
  for (let at = 0; at < data.length; at += CHUNK) text += String.fromCharCode(...data.subarray(at, at + CHUNK))
  return btoa(text)
}

/** The bytes of one `fromCharCode` call: more arguments could overflow the stack. */
const CHUNK = 8_192
