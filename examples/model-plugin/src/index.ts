import {
  type ChatModel,
  type FinishReason,
  KernelError,
  type Message,
  type ModelPart,
  type ModelRequest,
  textOf,
} from '@troupe/kernel'
import { checkOption } from '@troupe/kernel/kit'

/** Which model, and where it is served. */
export interface ChatCompletionsOptions {
  /** The address up to `/chat/completions`: `https://api.openai.com/v1`, `http://localhost:11434/v1`. */
  readonly url: string
  /** The name the server knows it by. */
  readonly model: string
  /** Sent as a bearer token. @default no token */
  readonly apiKey?: string
  /** @default the global fetch */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Makes a model of any server that speaks the Chat Completions API of OpenAI.
 * Contract: fails with `MODEL_FAILED`, retryable where the server is busy or cannot be reached.
 * @example chatModelAgent({ name: 'helper', model: chatCompletions({ url: 'http://localhost:11434/v1', model: 'qwen3' }) })
 */
export function chatCompletions(options: ChatCompletionsOptions): ChatModel {
  const { url, model, apiKey, fetch = globalThis.fetch } = options
  checkOption(URL.canParse(url), 'chatCompletions', 'url is the address up to /chat/completions', url)
  checkOption(typeof model === 'string' && model !== '', 'chatCompletions', 'model is the name of a model', model)
  return {
    name: model,
    async *stream(request, { signal }) {
      signal.throwIfAborted()
      try {
        const response = await fetch(`${url.replace(/\/$/, '')}/chat/completions`, {
          method: 'POST',
          signal,
          headers: { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) },
          body: JSON.stringify(bodyOf(model, request)),
        })
        if (!response.ok || !response.body) throw await refusal(response)
        for await (const part of partsOf(chunksOf(response.body))) {
          signal.throwIfAborted()
          yield part
        }
      } catch (cause) {
        signal.throwIfAborted()
        if (KernelError.is(cause)) throw cause
        throw failed(`${url} cannot be reached, or its answer broke off`, { cause, retryable: true })
      }
    },
  }
}

function failed(what: string, options: { cause?: unknown; retryable: boolean }): KernelError {
  return new KernelError('MODEL_FAILED', `chatCompletions: ${what}`, options)
}

async function refusal(response: Response): Promise<KernelError> {
  const { status } = response
  const text = (await response.text()).slice(0, 500)
  return failed(`status ${status}, ${text}`, { retryable: status === 408 || status === 429 || status >= 500 })
}

/** What the server is asked. */
function bodyOf(model: string, { instruction, messages, tools, options }: ModelRequest): object {
  const system = instruction === '' ? [] : [{ role: 'system', content: instruction }]
  const { temperature, maxOutputTokens, stopSequences, toolChoice, responseSchema } = options
  const choice = typeof toolChoice === 'object' ? { type: 'function', function: { name: toolChoice.tool } } : toolChoice
  const schema = responseSchema && { name: 'answer', schema: responseSchema }
  return {
    model,
    messages: [...system, ...messages.map(messageOf)],
    stream: true,
    stream_options: { include_usage: true },
    temperature,
    max_tokens: maxOutputTokens,
    stop: stopSequences,
    ...(tools.length > 0 && {
      tools: tools.map((tool) => ({ type: 'function', function: tool })),
      tool_choice: choice,
    }),
    ...(schema && { response_format: { type: 'json_schema', json_schema: schema } }),
  }
}

function messageOf(message: Message): object {
  const content = textOf(message.content)
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.callId, content }
  if (message.role !== 'assistant') return { role: message.role, content }
  const calls = message.toolCalls?.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }))
  return { role: 'assistant', content, ...(calls && calls.length > 0 && { tool_calls: calls }) }
}

/** A piece of an answer, as far as it matters here. */
interface Chunk {
  readonly model?: string
  readonly error?: { readonly message?: string }
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null
  readonly choices?: readonly {
    readonly finish_reason?: string | null
    readonly delta?: {
      readonly content?: string | null
      readonly tool_calls?: readonly {
        readonly index: number
        readonly id?: string
        readonly function?: { readonly name?: string; readonly arguments?: string }
      }[]
    }
  }[]
}

const REASONS: { readonly [reason: string]: FinishReason } = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  content_filter: 'content-filter',
}

/** The parts of an answer. Contract: the last is `finish`; an answer that ends without a reason broke off. */
async function* partsOf(chunks: AsyncIterable<Chunk>): AsyncGenerator<ModelPart> {
  const calls = new Map<number, string>()
  let reason: FinishReason | undefined
  let usage = { inputTokens: 0, outputTokens: 0 }
  let model: string | undefined
  for await (const chunk of chunks) {
    if (chunk.error) throw failed(chunk.error.message ?? 'the server failed', { retryable: true })
    model = chunk.model ?? model
    if (chunk.usage) {
      const { prompt_tokens: inputTokens = 0, completion_tokens: outputTokens = 0 } = chunk.usage
      usage = { inputTokens, outputTokens }
    }
    const [choice] = chunk.choices ?? []
    if (choice?.finish_reason) reason = REASONS[choice.finish_reason] ?? 'other'
    if (choice?.delta?.content) yield { type: 'text-delta', delta: choice.delta.content }
    for (const { index, id, function: called } of choice?.delta?.tool_calls ?? []) {
      const callId = calls.get(index) ?? id ?? `call-${index}`
      if (!calls.has(index)) yield { type: 'tool-call-start', callId, name: called?.name ?? '' }
      calls.set(index, callId)
      if (called?.arguments) yield { type: 'tool-call-delta', callId, delta: called.arguments }
    }
  }
  if (!reason) throw failed('the answer broke off', { retryable: true })
  for (const callId of calls.values()) yield { type: 'tool-call-end', callId }
  yield { type: 'finish', reason, usage, ...(model !== undefined && { model }) }
}

/** The data of server-sent events. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Chunk> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const data = /^data: ?(.*?)\r?$/.exec(line)?.[1]
      if (data !== undefined && data !== '[DONE]') yield JSON.parse(data) as Chunk
    }
  }
}
