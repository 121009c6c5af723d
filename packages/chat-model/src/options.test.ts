import { type AgentHandler, type AgentSpec, BaseAgentHandler } from '@troupe/kernel'
import { scriptedModel, testOptions } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { tool } from './chat-model.fixture.ts'
import {
  type AgentMiddleware,
  type BackoffOptions,
  backoff,
  type ChatModelAgentOptions,
  chatModelAgent,
} from './index.ts'
import { validateJsonSchema } from './tools/validate-json-schema.ts'

const model = scriptedModel(['Hi.'])
const fine = { name: 'weather', model }
const agent: Required<Omit<ChatModelAgentOptions, 'exit'>> = {
  ...fine,
  description: 'd',
  fallbacks: [model],
  instruction: 'Help.',
  tools: [],
  handlers: [],
  middlewares: [],
  output: { type: 'object' },
  outputCorrections: 1,
  maxIterations: 3,
  toolConcurrency: 2,
  modelOptions: { temperature: 0 },
  retry: false,
  toolRetry: false,
  modelTimeoutMs: 1,
  toolTimeoutMs: 1,
  runTimeoutMs: 1,
  maxAnswerChars: 1,
  maxResultChars: 1,
  validator: validateJsonSchema,
}
const pauses: Required<BackoffOptions> = { attempts: 1, when: () => true, firstMs: 1, longestMs: 2, random: () => 0 }
const middleware: Required<AgentMiddleware> = {
  additionalInstruction: 'Be brief.',
  additionalTools: [tool('t')],
  beforeChatModel: () => {},
  afterChatModel: () => {},
  wrapToolCall: { invokable: (next) => next, streamable: (next) => next },
}

testOptions<ChatModelAgentOptions>('chatModelAgent', chatModelAgent, agent)
testOptions<ChatModelAgentOptions>('chatModelAgent with exit', chatModelAgent, { ...fine, exit: true })
testOptions<BackoffOptions>('backoff', backoff, pauses)
testOptions<AgentMiddleware>('a middleware', (one) => chatModelAgent({ ...fine, middlewares: [one] }), middleware)
testOptions<AgentMiddleware>(
  'one among the handlers',
  (one) => chatModelAgent({ ...fine, handlers: [one] }),
  middleware,
)

const refusal = (options: object) => () => chatModelAgent({ ...fine, ...options } as ChatModelAgentOptions)

describe('an agent is refused with what was meant', () => {
  const wrapped = 'is an AI SDK model; wrap it: aiSdkModel(model) from @troupe/model-ai-sdk'
  const foreign = { specificationVersion: 'v4', provider: 'openai', modelId: 'gpt-5', doStream() {}, doGenerate() {} }
  test.each<[object, string]>([
    [{ instructions: 'Help.' }, 'agent weather: unknown option instructions; did you mean instruction?'],
    [{ systemPrompt: 'Help.' }, 'agent weather: unknown option systemPrompt; did you mean instruction?'],
    [{ maxSteps: 3 }, 'agent weather: unknown option maxSteps; did you mean maxIterations?'],
    [{ temperature: 0 }, 'agent weather: unknown option temperature; did you mean modelOptions?'],
    [
      { modelOptions: { maxTokens: 5 } },
      'agent weather: modelOptions: unknown option maxTokens; did you mean maxOutputTokens?',
    ],
    [{ model: foreign }, `agent weather: model ${wrapped}`],
    [{ fallbacks: [model, foreign] }, `agent weather: fallbacks[1] ${wrapped}`],
    [{ model: 'openai/gpt-5' }, 'agent weather: model is a ChatModel and not its name, got "openai/gpt-5"; wrap'],
    [
      { tools: [{ inputSchema: {}, execute() {} }] },
      'tool: is a tool of another framework (it has execute, inputSchema); make',
    ],
    [
      { tools: [{ tool: tool('t'), returnDirect: true }] },
      'tools: unknown option returnDirect; did you mean returnDirectly?',
    ],
    [
      { handlers: [{ name: 'shout', beforeModel() {} }] },
      'handler shout: unknown hook beforeModel; did you mean beforeModelRewriteHistory?',
    ],
    [
      { middlewares: [{ wrapToolCall: { invokeable: () => {} } }] },
      'agent weather: wrapToolCall: unknown option invokeable; did you mean invokable?',
    ],
    [
      { middlewares: [{ beforeModel: () => {} }] },
      'agent weather: middleware: unknown option beforeModel; did you mean beforeChatModel?',
    ],
  ])('%o', (options, message) => {
    expect(refusal(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
    )
  })

  test('a handler that is a class is checked once, when it is given', () => {
    class Shout extends BaseAgentHandler {
      beforeModel() {}
    }
    expect(refusal({ handlers: [new Shout('shout')] })).toThrow(/handler shout: unknown hook beforeModel/)
  })
})

test('a middleware may have members of its own', () => {
  const own = { name: 'old', id: 3, dispose: () => {}, beforeChatModel: () => {} }
  expect(refusal({ middlewares: [own] })).not.toThrow()
  expect(refusal({ middlewares: [{ ...own, onError: () => {} }] })).toThrow(
    /middleware: unknown option onError; known are/,
  )
})

test('it is an AgentFactory, for a spec as others make it', () => {
  const handlers: readonly AgentHandler[] = []
  const spec: AgentSpec = { ...fine, description: '', instruction: '', tools: [], handlers, maxIterations: 1 }
  expect(chatModelAgent(spec).name).toBe('weather')
})
