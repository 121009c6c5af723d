import { describe, expect, it, test } from 'vitest'
import { defineTool, type Tool } from '../index.ts'
import { checkModel, checkModelOptions, toolMetas } from '../kit.ts'

const WRAP = 'agent weather: model is an AI SDK model; wrap it: aiSdkModel(model) from @troupe/model-ai-sdk'

describe('what is not a chat model is refused', () => {
  test.each([
    [{ specificationVersion: 'v4', provider: 'openai', modelId: 'gpt-5', doStream() {}, doGenerate() {} }, WRAP],
    [{ specificationVersion: 'v2' }, WRAP],
    [{ doGenerate() {} }, WRAP],
    [
      'gpt-5',
      "agent weather: model is a ChatModel and not its name, got \"gpt-5\"; wrap a provider's model: aiSdkModel(openai('gpt-5')) from @troupe/model-ai-sdk",
    ],
    [undefined, 'agent weather: model is a ChatModel, an object with a name and stream(), got undefined'],
    [{ stream() {} }, 'agent weather: model is a ChatModel, an object with a name and stream(), got an object'],
  ])('%o', (model, message) => {
    expect(() => checkModel('agent weather', 'model', model)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message }),
    )
  })

  it('unless it is one', () => {
    const stream = async function* () {}
    expect(() => checkModel('agent weather', 'model', { name: 'm', stream })).not.toThrow()
  })
})

test('settings of a model call that do not exist are refused', () => {
  const who = 'agent weather: modelOptions'
  const all = { temperature: 0, maxOutputTokens: 1, stopSequences: [], toolChoice: 'auto', provider: {} } as const
  expect(() => checkModelOptions(who, { ...all, responseSchema: { type: 'object' } })).not.toThrow()
  expect(() => checkModelOptions(who, { maxTokens: 5 } as never)).toThrow(
    'agent weather: modelOptions: unknown option maxTokens; did you mean maxOutputTokens?',
  )
})

const FOREIGN =
  /is a tool of another framework \(it has .*\); make one of it: defineTool\(\{ name, description, parameters, invoke \}\)/

describe('a tool of another framework fails with a hint at defineTool', () => {
  const schema = { type: 'object', properties: {} }
  const text = { name: 'weather', description: 'The weather.' }
  test.each([
    ['the AI SDK', { description: 'The weather.', inputSchema: schema, execute: (): string => 'Sunny.' }],
    ['the AI SDK 4', { description: 'The weather.', parameters: schema, execute: (): string => 'Sunny.' }],
    ['LangChain', { ...text, lc_namespace: ['langchain', 'tools'], schema, invoke: () => 'Sunny.' }],
    ['MCP', { ...text, inputSchema: schema }],
    ['OpenAI', { type: 'function', function: { ...text, parameters: schema } }],
    ['Anthropic', { ...text, input_schema: schema }],
  ])('%s', (_, tool) => {
    const error = expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(FOREIGN) })
    expect(() => toolMetas([tool as never])).toThrow(error)
    expect(() => toolMetas([{ tool: tool as never, returnDirectly: true }])).toThrow(error)
  })

  it('but a tool of ours may have members of its own', () => {
    class Weather implements Tool {
      readonly name = 'weather'
      readonly description = 'The weather.'
      readonly parameters = { type: 'object' } as const
      readonly kind = 'read'
      readonly schema = 'mine'
      invoke() {
        return this.execute()
      }
      execute() {
        return 'Sunny.'
      }
    }
    expect(toolMetas([new Weather()])).toHaveLength(1)
  })

  it('and a definition that mixes both gets the name of ours', () => {
    const define = (more: object) => () => defineTool({ ...text, parameters: { type: 'object' }, ...more } as never)
    expect(define({ execute: () => 'Sunny.' })).toThrow('tool weather: unknown option execute; did you mean invoke?')
    expect(() => defineTool({ run() {} } as never)).toThrow('defineTool: unknown option run; did you mean invoke?')
    expect(define({ inputSchema: {}, invoke() {} })).toThrow('unknown option inputSchema; did you mean parameters?')
  })
})
