import { type AgentHandler, type Tool, withBeforeAgent, withTools, withToolsFunc } from '@troupe/kernel'
import type { HookName } from '@troupe/kernel/kit'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  calling,
  expectSound,
  hello,
  noUnhandledRejection,
  type Options,
  runAgent,
  streaming,
  tool,
} from '../chat-model.fixture.ts'

beforeEach(noUnhandledRejection)

const options = { tools: [tool('t'), streaming('s')] }
/** Calls a tool of the kind that the hook wraps. */
const turnsFor = (hook: string) => [calling(hook === 'wrapStreamableToolCall' ? 's' : 't'), 'Done.']

describe('a handler that returns an invalid value fails the run with an error that names handler and hook', () => {
  const invalid: readonly (readonly [HookName, string, unknown])[] = [
    ['beforeAgent', 'a number', () => 42],
    ['beforeAgent', 'an object that is not a context', () => ({ runId: 'x' })],
    ['beforeModelRewriteHistory', 'a text', () => 'history'],
    ['beforeModelRewriteHistory', 'null', () => null],
    ['beforeModelRewriteHistory', 'no messages', () => ({ messages: 1, ctx: {} })],
    ['beforeModelRewriteHistory', 'messages that are invalid', () => [1, null, 'x']],
    ['afterModelRewriteHistory', 'a number', () => 7],
    ['afterModelRewriteHistory', 'messages that are invalid', () => [undefined]],
    ['wrapInvokableToolCall', 'nothing', async () => undefined],
    ['wrapInvokableToolCall', 'no result', async () => 42],
    ['wrapInvokableToolCall', 'content that is invalid', async () => ({ content: 42 })],
    ['wrapInvokableToolCall', 'data that is not JSON', async () => ({ content: 'x', data: 1n })],
    ['wrapStreamableToolCall', 'nothing', async () => undefined],
    ['wrapStreamableToolCall', 'no result', async () => ({ stream: none(), result: Promise.resolve(undefined) })],
    ['wrapModelCall', 'nothing', () => undefined],
    ['wrapModelCall', 'no stream', () => 42],
    ['wrapModelCall', 'parts that are invalid', () => [null]],
  ]
  test.each(invalid)('%s: %s', async (hook, _, body) => {
    const finished = await runAgent(turnsFor(hook), {
      ...options,
      handlers: [{ name: 'odd', [hook]: body } as AgentHandler],
    })
    expect(finished.errors).toMatchObject([{ code: 'HANDLER_FAILED', details: { handler: 'odd', hook } }])
    expectSound(finished)
  })

  const configs: Record<string, object> = {
    'an instruction that is not text': { instruction: 42 },
    'tools that are not a list': { tools: 'none' },
    'tools without options': { tools: [tool('t')] },
    'a tool that is invalid': { tools: [{ tool: {}, returnDirectly: false }] },
    'the same tool twice': { tools: [tool('x'), tool('x')].map((one) => ({ tool: one, returnDirectly: false })) },
    'no input': { input: undefined },
    'messages that are not a list': { input: { messages: 'Hello' } },
    'no options': { runOptions: null },
  }
  test.each(Object.entries(configs))('beforeAgent sets %s', async (_, change) => {
    const finished = await runAgent(['Hi.'], {
      handlers: [{ name: 'odd', beforeAgent: (_ctx, config) => void Object.assign(config, change) }],
    })
    expect(finished.errors).toMatchObject([
      { code: 'HANDLER_FAILED', details: { handler: 'odd', hook: 'beforeAgent' } },
    ])
    expect(finished.requests).toHaveLength(0)
  })

  const meta = (one: Tool) => ({ tool: one, returnDirectly: false })
  const broken = { ...tool('bad'), parameters: { type: 'strin' } as never }
  const adding: Record<string, readonly [Options, string, string]> = {
    'withTools adds a name that is taken': [{ handlers: [withTools(tool('t'))] }, 'withTools', '"t" twice'],
    'withToolsFunc adds a name that is taken': [
      { handlers: [withToolsFunc((_, tools) => [...tools, meta(tool('t'))])] },
      'withToolsFunc',
      '"t" twice',
    ],
    'withBeforeAgent pushes a name that is taken': [
      { handlers: [withBeforeAgent((_, config) => void config.tools.push(meta(tool('t'))))] },
      'withBeforeAgent',
      '"t" twice',
    ],
    'withToolsFunc adds a tool with a bad schema': [
      { handlers: [withToolsFunc((_, tools) => [...tools, meta(broken)])] },
      'withToolsFunc',
      'tool bad',
    ],
    'withBeforeAgent pushes a tool without a body': [
      {
        handlers: [
          withBeforeAgent((_, config) => void config.tools.push(meta({ ...tool('bad'), invoke: undefined as never }))),
        ],
      },
      'withBeforeAgent',
      'tool bad',
    ],
    'a middleware among the handlers adds a name that is taken': [
      { handlers: [{ additionalTools: [tool('t')] }] },
      'legacy-middleware',
      '"t" twice',
    ],
  }
  test.each(Object.entries(adding))('%s: the error names handler, hook and tool', async (_, [more, handler, text]) => {
    const { errors, requests } = await runAgent(['Hi.'], { tools: [tool('t')], ...more })
    const code = expect.stringMatching(/^(HANDLER_FAILED|CONFIG_INVALID)$/)
    expect(errors).toMatchObject([{ code, details: { handler, hook: 'beforeAgent' } }])
    expect([errors[0]?.message, requests.length]).toEqual([expect.stringContaining(text), 0])
  })

  test('a tool that was added to the run with a bad schema is not the fault of a handler', async () => {
    const input = { ...hello, additions: { tools: [meta(broken)] } }
    const { errors } = await runAgent(['Hi.'], { handlers: [withBeforeAgent(() => undefined)] }, input)
    expect(errors).toMatchObject([{ code: 'SCHEMA_INVALID', message: expect.stringContaining('tool bad') }])
  })
})

async function* none(): AsyncGenerator<string> {}
