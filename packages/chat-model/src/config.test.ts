import { KernelError, type Tool } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { tool } from './chat-model.fixture.ts'
import { backoff, type ChatModelAgentOptions, chatModelAgent } from './index.ts'

const model = scriptedModel(['Hi.'])
const fine = { name: 'a', model }
const bare = { name: 't', description: 't', parameters: { type: 'object' }, kind: 'read', invoke: () => '' }

function failure(body: () => unknown): KernelError {
  try {
    body()
  } catch (error) {
    if (KernelError.is(error)) return error
    return expect.fail(`not a coded error: ${error}`)
  }
  return expect.fail('nothing was thrown')
}

const invalid: readonly (readonly [string, unknown, RegExp])[] = [
  ['no options', undefined, /option|name/i],
  ['options that are invalid', 42, /option|name/i],
  ['no name', { model }, /name/],
  ['an empty name', { ...fine, name: '' }, /name/],
  ['a name that is not text', { ...fine, name: 7 }, /name/],
  ['a description that is not text', { ...fine, description: 7 }, /description/],
  ['no model', { name: 'a' }, /ChatModel|model/],
  ['a model that is invalid', { ...fine, model: {} }, /ChatModel|model/],
  ['a model that is a name', { ...fine, model: 'gpt' }, /ChatModel|model/],
  ['a fallback that is invalid', { ...fine, fallbacks: [null] }, /ChatModel|fallback/],
  ['fallbacks that are not a list', { ...fine, fallbacks: model }, /fallbacks/],
  ['an instruction that is not text', { ...fine, instruction: ['Be kind.'] }, /instruction/],
  ['tools that are not a list', { ...fine, tools: tool('t') }, /tools/],
  ['a tool that is invalid', { ...fine, tools: [undefined] }, /tool/],
  ['a tool without a name', { ...fine, tools: [{ ...bare, name: '' }] }, /name/],
  ['a tool without a body', { ...fine, tools: [{ ...bare, invoke: undefined }] }, /invoke, stream or longRunning/],
  ['a meta without a tool', { ...fine, tools: [{ tool: undefined, returnDirectly: true }] }, /tool/],
  ['the same tool twice', { ...fine, tools: [tool('t'), tool('t')] }, /"t" twice/],
  ['an exit tool whose name is taken', { ...fine, tools: [tool('exit')], exit: true }, /"exit" twice/],
  [
    'an additional tool whose name is taken',
    { ...fine, tools: [tool('t')], middlewares: [{ additionalTools: [tool('t')] }] },
    /"t" twice/,
  ],
  [
    'two middlewares with the same tool',
    { ...fine, middlewares: [{ additionalTools: [tool('t')] }, { additionalTools: [tool('t')] }] },
    /"t" twice/,
  ],
  ['an exit that is invalid', { ...fine, exit: 'exit' }, /exit|tool/],
  ['handlers that are not a list', { ...fine, handlers: {} }, /handlers/],
  ['a handler that is invalid', { ...fine, handlers: [null] }, /handler/],
  ['a handler that is a function', { ...fine, handlers: [() => undefined] }, /handler/],
  ['a handler without a name', { ...fine, handlers: [{ beforeAgent() {} }] }, /handler|name/],
  ['a handler with an empty name', { ...fine, handlers: [{ name: '', beforeAgent() {} }] }, /name/],
  ['a hook that is not a function', { ...fine, handlers: [{ name: 'h', beforeAgent: 1 }] }, /h.*beforeAgent/],
  ['middlewares that are not a list', { ...fine, middlewares: {} }, /middlewares/],
  ['a middleware that is invalid', { ...fine, middlewares: [7] }, /middleware|handler/],
  ['additionalTools that are invalid', { ...fine, middlewares: [{ additionalTools: [{}] }] }, /tool/],
  [
    'an additionalInstruction that is not text',
    { ...fine, middlewares: [{ additionalInstruction: 7 }] },
    /additionalInstruction/,
  ],
  ['a beforeChatModel that is not a function', { ...fine, middlewares: [{ beforeChatModel: 7 }] }, /beforeChatModel/],
  [
    'a wrapToolCall that is invalid',
    { ...fine, middlewares: [{ wrapToolCall: { invokable: 7 } }] },
    /wrapToolCall|invokable/,
  ],
  ['a retry policy that is invalid', { ...fine, retry: 3 }, /retry/],
  ['retry true', { ...fine, retry: true }, /retry/],
  ['modelOptions that are invalid', { ...fine, modelOptions: 'hot' }, /modelOptions/],
  ['a validator that is invalid', { ...fine, validator: {} }, /validator/],
  ...['maxIterations', 'toolConcurrency'].flatMap((option) =>
    [0, -1, 1.5, Number.NaN, '3', null].map(
      (value) => [`${option} ${value}`, { ...fine, [option]: value }, new RegExp(option)] as const,
    ),
  ),
  ...[-1, 1.5, Number.NaN, '3'].map(
    (value) => [`outputCorrections ${value}`, { ...fine, outputCorrections: value }, /outputCorrections/] as const,
  ),
  ...['modelTimeoutMs', 'toolTimeoutMs', 'runTimeoutMs'].flatMap((option) =>
    [0, -1, Number.NaN, '3', null].map(
      (value) => [`${option} ${value}`, { ...fine, [option]: value }, new RegExp(option)] as const,
    ),
  ),
]

describe('construction validates the configuration', () => {
  test.each(invalid)('%s is CONFIG_INVALID, and the message says what was expected', (_, options, message) => {
    const error = failure(() => chatModelAgent(options as ChatModelAgentOptions))
    expect([error.code, error.message]).toEqual(['CONFIG_INVALID', expect.stringMatching(message)])
  })

  const schemas: Record<string, unknown> = {
    'no schema': undefined,
    'an array': [],
    'an unknown type': { type: 'strin' },
    'no object': { type: 'string' },
  }
  test.each(Object.entries(schemas))('parameters that are %s are SCHEMA_INVALID and name the tool', (_, parameters) => {
    const broken = { ...bare, parameters } as Tool
    const error = failure(() => chatModelAgent({ ...fine, tools: [broken] }))
    expect([error.code, error.message]).toEqual(['SCHEMA_INVALID', expect.stringContaining('tool t')])
  })

  test.each([42, 'text', [], { type: 'strin' }, { '~standard': { version: 1, vendor: 'valibot', validate() {} } }])(
    'an output schema that is invalid (%j) is SCHEMA_INVALID',
    (output) => {
      expect(failure(() => chatModelAgent({ ...fine, output: output as never })).code).toBe('SCHEMA_INVALID')
    },
  )

  test('an output schema without a JSON side names its converter', () => {
    const output = { '~standard': { version: 1, vendor: 'valibot', validate() {} } } as never
    expect(failure(() => chatModelAgent({ ...fine, output })).message).toContain('toStandardJsonSchema')
  })

  test('the message names the agent', () => {
    expect(failure(() => chatModelAgent({ ...fine, name: 'weather', maxIterations: 0 })).message).toMatch(/weather/)
  })

  test('backoff refuses an invalid number of attempts or milliseconds', () => {
    for (const options of [{ attempts: 0 }, { attempts: 1.5 }, { firstMs: -1 }, { longestMs: Number.NaN }]) {
      expect(failure(() => backoff(options)).code).toBe('CONFIG_INVALID')
    }
  })

  test('is pure: no model is asked and no hook is called', () => {
    const called: string[] = []
    chatModelAgent({
      name: 'a',
      model: { name: 'm', stream: () => (called.push('model') ? expect.fail() : expect.fail()) },
      handlers: [{ name: 'h', beforeAgent: () => void called.push('beforeAgent') }],
      middlewares: [{ beforeChatModel: () => void called.push('beforeChatModel') }],
    })
    expect(called).toEqual([])
  })

  test('what is left out has a default; the lists given are not kept', () => {
    const tools = [tool('t')]
    const agent = chatModelAgent({ ...fine, tools })
    tools.push(tool('t'))
    expect(agent).toMatchObject({ name: 'a', description: '', acceptsAdditions: true })
  })
})
