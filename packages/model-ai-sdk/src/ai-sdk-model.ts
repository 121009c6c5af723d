import type { LanguageModelV4, LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider'
import {
  type ChatModel,
  type Clock,
  KernelError,
  type ModelPart,
  type ModelRequest,
  type Sink,
  stream,
} from '@troupe/kernel'
import { type AbortScope, abortScope, checkOptionNames, systemClock, untilAborted } from '@troupe/kernel/kit'
import { AnswerTranslator } from './answer-translator.ts'
import { withCacheMarks } from './cache-marks.ts'
import { type CallDefaults, toCallOptions } from './call-options.ts'
import { modelError } from './model-error.ts'
import { DIALECTS, type Dialect, dialectOf } from './schema/dialect.ts'
import { responseFormat } from './schema/response-format.ts'

/** Options of `aiSdkModel`. */
export interface AiSdkModelOptions {
  /** For usage rows, spans and error messages. @default `provider:modelId`, e.g. `openai:gpt-5` */
  readonly name?: string
  /** Settings of every call as the AI SDK has them, e.g. `reasoning`, `topP`, `headers`, `providerOptions`; the settings of a request win. @default {} */
  readonly defaults?: CallDefaults
  /** The role of system messages inside a conversation. @default 'user' for Google, whose provider refuses 'system' there, else 'system' */
  readonly lateSystemRole?: 'system' | 'user'
  /** The vendor whose subset of JSON Schema structured output uses. @default by provider: 'anthropic' for Anthropic and Bedrock, 'google' for Google, else 'openai' */
  readonly schemaDialect?: Dialect['name']
  /** The clock for a `retry-after` that is a date. @default systemClock */
  readonly clock?: Clock
}

const ALIASES = {
  temperature: 'defaults',
  maxOutputTokens: 'defaults',
  providerOptions: 'defaults',
  headers: 'defaults',
} as const

/**
 * Makes a chat model of any AI SDK provider model of specification v4.
 * @example const model = aiSdkModel(openai('gpt-5'), { defaults: { reasoning: 'low' } })
 */
export function aiSdkModel(model: LanguageModelV4, options: AiSdkModelOptions = {}): ChatModel {
  checkSpecification(model)
  checkOptionNames(
    'aiSdkModel',
    options,
    { name: true, defaults: true, lateSystemRole: true, schemaDialect: true, clock: true },
    ALIASES,
  )
  const [vendor = ''] = model.provider.split('.', 1)
  const {
    name = `${vendor}:${model.modelId}`,
    defaults = {},
    lateSystemRole = vendor === 'google' ? 'user' : 'system',
    schemaDialect = dialectOf(model.provider),
    clock = systemClock,
  } = options
  if (!Object.hasOwn(DIALECTS, schemaDialect)) {
    const known = Object.keys(DIALECTS).join(', ')
    throw new KernelError('CONFIG_INVALID', `aiSdkModel: schemaDialect must be one of ${known}, got ${schemaDialect}`)
  }
  const toError = (error: unknown) => modelError(name, error, clock)
  const answer = async (request: ModelRequest, scope: AbortScope, sink: Sink<ModelPart>) => {
    const { responseSchema, cache } = request.options
    const format = responseSchema && responseFormat(responseSchema, schemaDialect)
    const namespaces = [schemaDialect, vendor]
    const asked = () => toCallOptions(request, defaults, lateSystemRole, scope.signal, format, namespaces)
    const ask = () => model.doStream(withCacheMarks(model.provider, cache, asked()))
    return writeAnswer(sink, scope, ask, new AnswerTranslator(name, vendor, format), toError)
  }
  return {
    name,
    stream(request, { signal }) {
      let scope: AbortScope | undefined
      const produce = (sink: Sink<ModelPart>) => {
        const opened = abortScope(signal)
        scope = opened
        return answer(request, opened, sink).finally(() => opened[Symbol.dispose]())
      }
      // The provider may be silent, so that no write tells it that the reader has left.
      const onLeave = async () => {
        scope?.abort(new KernelError('ABORTED', 'model call: the reader has left'))
        scope?.[Symbol.dispose]()
      }
      return stream<ModelPart>(produce, { onLeave })
    },
  }
}

/** Writes the provider's answer into a sink. Contract: errors of the provider go through `toError`, those of the sink pass unchanged; the provider's stream is always cancelled at the end. */
async function writeAnswer(
  sink: Sink<ModelPart>,
  scope: AbortScope,
  ask: () => PromiseLike<LanguageModelV4StreamResult>,
  answer: AnswerTranslator,
  toError: (error: unknown) => KernelError,
): Promise<void> {
  const { signal } = scope
  const failure = (error: unknown): unknown => (signal.aborted ? signal.reason : toError(error))
  signal.throwIfAborted()
  const reader = await open(ask, signal).catch((error: unknown) => {
    throw failure(error)
  })
  // Ends a read that waits for a silent provider.
  const cancel = () => {
    reader.cancel(signal.reason).catch(ignore)
  }
  signal.addEventListener('abort', cancel)
  try {
    while (!answer.finished) {
      let parts: readonly ModelPart[]
      try {
        const { done, value } = await reader.read()
        parts = done ? answer.failIncomplete() : answer.translate(value)
      } catch (error) {
        throw failure(error)
      }
      for (const part of parts) {
        signal.throwIfAborted()
        const wait = sink.write(part)
        if (wait) await wait
      }
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
    // Not every provider closes its connection when its stream is cancelled.
    if (!answer.finished) scope.abort(new KernelError('ABORTED', 'model call: ended early'))
  }
}

/** Contract: a stream that a provider opens after the abort is cancelled. */
async function open(
  ask: () => PromiseLike<LanguageModelV4StreamResult>,
  signal: AbortSignal,
): Promise<ReadableStreamDefaultReader<LanguageModelV4StreamPart>> {
  const opening = Promise.resolve(ask())
  const { stream } = await untilAborted(signal, opening, (late) => late.stream.cancel(signal.reason))
  return stream.getReader()
}

function checkSpecification(model: LanguageModelV4): void {
  const { specificationVersion, doStream } = Object(model) as Partial<LanguageModelV4>
  if (specificationVersion === 'v4' && typeof doStream === 'function') return
  if (typeof (Object(model) as Partial<ChatModel>).stream === 'function') {
    throw new KernelError('CONFIG_INVALID', 'aiSdkModel: this is a ChatModel already; use it as it is')
  }
  const needs = 'aiSdkModel: expected a model of an AI SDK provider with specification v4'
  throw new KernelError(
    'CONFIG_INVALID',
    specificationVersion === undefined
      ? `${needs}, got ${typeof model}; pass one like openai('gpt-5') of @ai-sdk/openai`
      : `${needs}, got specification ${specificationVersion}; update the provider: npm install @ai-sdk/openai@latest, or the one you use`,
  )
}

function ignore(): void {}
