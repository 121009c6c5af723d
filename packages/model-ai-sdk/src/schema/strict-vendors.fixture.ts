import type { ServerResponse } from 'node:http'
import {
  anthropic,
  events,
  google,
  type LocalServer,
  type MakeProvider,
  openaiChat,
  openaiResponses,
  refuse,
  serve,
} from '../vendors.fixture.ts'
import { brokenAsTool, brokenForAnthropic, brokenForGoogle, brokenForOpenAI } from './subsets.fixture.ts'

/** A request as the vendor got it. */
export interface Asked {
  readonly schema: Record<string, unknown>
  /** Whether the vendor holds the model to the schema. */
  readonly strict: boolean
}

/** A vendor that refuses what its documents do not allow, and otherwise answers in JSON. */
export interface StrictVendor {
  readonly make: MakeProvider
  asked(body: unknown): Asked
  /** The problems of a request. */
  complaint(body: unknown): string | undefined
  answer(response: ServerResponse, pieces: readonly string[], body: unknown): void
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of requests are read by their documented paths
type Body = any

const chunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' }
const usage = { input_tokens: 4, output_tokens: 1 }

export const STRICT_VENDORS: Readonly<Record<string, StrictVendor>> = {
  'OpenAI Chat': {
    make: openaiChat,
    asked: ({ response_format: { json_schema } }: Body) => json_schema,
    complaint(body: Body) {
      const { schema, strict } = this.asked(body)
      const tools = (body.tools ?? []).map(
        ({ function: tool }: Body) =>
          brokenAsTool(tool.parameters) ?? brokenForOpenAI(tool.parameters, tool.strict === true),
      )
      return [brokenForOpenAI(schema, strict), ...tools].find(Boolean)
    },
    answer(response, pieces) {
      const deltas = pieces.map((content) => ({ ...chunk, choices: [{ index: 0, delta: { content } }] }))
      const end = { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
      events(response, ...deltas, end).end('data: [DONE]\n\n')
    },
  },
  'OpenAI Responses': {
    make: openaiResponses,
    asked: ({ text: { format } }: Body) => format,
    complaint(body: Body) {
      const { schema, strict } = this.asked(body)
      const tools = (body.tools ?? []).map(
        (tool: Body) => brokenAsTool(tool.parameters) ?? brokenForOpenAI(tool.parameters, tool.strict !== false),
      )
      return [brokenForOpenAI(schema, strict), ...tools].find(Boolean)
    },
    answer(response, pieces) {
      const item = { type: 'message', id: 'msg_1', role: 'assistant', content: [] }
      const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
      events(
        response,
        { type: 'response.created', response: { id: 'resp_1', created_at: 1, model: 'gpt-5', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item },
        ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { id: 'resp_1', created_at: 1, model: 'gpt-5', output: [], usage } },
      ).end()
    },
  },
  Anthropic: {
    make: anthropic,
    asked: ({ output_config, tools }: Body) =>
      output_config?.format
        ? { schema: output_config.format.schema, strict: true }
        : { schema: tools.find(({ name }: Body) => name === 'json').input_schema, strict: false },
    complaint({ output_config, tools = [] }: Body) {
      const roots = tools.map(({ input_schema }: Body) => brokenAsTool(input_schema))
      const strict = tools
        .filter((tool: Body) => tool.strict)
        .map((tool: Body) => brokenForAnthropic(tool.input_schema))
      return [output_config?.format && brokenForAnthropic(output_config.format.schema), ...roots, ...strict].find(
        Boolean,
      )
    },
    answer(response, pieces, { output_config }: Body) {
      const block = output_config?.format
        ? { type: 'text', text: '' }
        : { type: 'tool_use', id: 'toolu_1', name: 'json', input: {} }
      const delta = (piece: string) =>
        output_config?.format ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece }
      const message = { id: 'm1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [], usage }
      events(
        response,
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: block },
        ...pieces.map((piece) => ({ type: 'content_block_delta', index: 0, delta: delta(piece) })),
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: output_config?.format ? 'end_turn' : 'tool_use', stop_sequence: null },
          usage: { output_tokens: 9 },
        },
        { type: 'message_stop' },
      ).end()
    },
  },
  Gemini: {
    make: google,
    asked: ({ generationConfig: { responseJsonSchema: schema } }: Body) => ({ schema, strict: true }),
    complaint: ({ generationConfig }: Body) =>
      generationConfig.responseMimeType === 'application/json'
        ? brokenForGoogle(generationConfig.responseJsonSchema)
        : 'responseMimeType must be application/json',
    answer(response, pieces) {
      const parts = pieces.map((text) => ({ candidates: [{ content: { role: 'model', parts: [{ text }] } }] }))
      events(response, ...parts, {
        candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP' }],
      }).end()
    },
  },
}

/** Contract: a request that the vendor does not document is answered with 400; an error of `text` is answered with 500. */
export function serveStrictly(vendor: StrictVendor, text: (asked: Asked) => readonly string[]): Promise<LocalServer> {
  return serve((response, _, body) => {
    const no = (code: number, message: string) => refuse(response, code, { error: { message, type: 'error', code } })
    const complaint = vendor.complaint(body)
    if (complaint !== undefined) return no(400, `Invalid schema: ${complaint}`)
    try {
      vendor.answer(response, text(vendor.asked(body)), body)
    } catch (error) {
      no(500, String(error))
    }
  })
}
