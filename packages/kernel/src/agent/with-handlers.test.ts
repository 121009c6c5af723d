import { describe, expect, it } from 'vitest'
import { contextKey } from '../context/context.ts'
import { createRunContext } from '../run/start-run.ts'
import { defineTool } from './define-tool.ts'
import type { AgentConfig, AgentHandler } from './handler.ts'
import type { Tool } from './tool.ts'
import {
  withAfterModelRewriteHistory,
  withBeforeAgent,
  withBeforeModelRewriteHistory,
  withInstruction,
  withInstructionFunc,
  withInvokableToolWrapper,
  withStreamableToolWrapper,
  withTools,
  withToolsFunc,
} from './with-handlers.ts'

const tool = (name: string) =>
  defineTool({ name, description: '', parameters: { type: 'object' }, invoke: () => name }) as Tool
const ctx = createRunContext()

async function configured(handlers: readonly AgentHandler[], start: Partial<AgentConfig> = {}): Promise<AgentConfig> {
  const config: AgentConfig = { instruction: 'Help.', tools: [], input: { messages: [] }, runOptions: {}, ...start }
  for (const handler of handlers) await handler.beforeAgent?.(ctx, config)
  return config
}

const names = ({ tools }: AgentConfig) => tools.map(({ tool }) => tool.name)

describe('3.6 withInstruction', () => {
  it('appends after a blank line', async () => {
    expect((await configured([withInstruction('Be brief.')])).instruction).toBe('Help.\n\nBe brief.')
  })
  it('is the whole instruction where there was none', async () => {
    expect((await configured([withInstruction('Be brief.')], { instruction: '' })).instruction).toBe('Be brief.')
  })
  it('refuses a value that is not a text', () => {
    expect(() => withInstruction(undefined as never)).toThrow(/withInstruction: expected text, got undefined/)
  })
})

describe('3.6 withInstructionFunc', () => {
  it('gets the text of the handler before and its output wins', async () => {
    const config = await configured([withInstruction('A'), withInstructionFunc((_, text) => `B\n${text}`)])
    expect(config.instruction).toBe('B\nHelp.\n\nA')
  })
  it('may wait, and may return a derived context', async () => {
    const key = contextKey<number>('n')
    const handler = withInstructionFunc(async (ctx, value) => ({ value: `${value}!`, ctx: ctx.with(key, 1) }))
    const config: AgentConfig = { instruction: 'Go', tools: [], input: { messages: [] }, runOptions: {} }
    const derived = await handler.beforeAgent?.(ctx, config)
    expect(config.instruction).toBe('Go!')
    expect(derived?.get(key)).toBe(1)
  })
  it('is not awaited when it does not wait', () => {
    const handler = withInstructionFunc((_, text) => text)
    const config: AgentConfig = { instruction: 'Go', tools: [], input: { messages: [] }, runOptions: {} }
    expect(handler.beforeAgent?.(ctx, config)).toBeUndefined()
  })
  it('refuses nonsense with CONFIG_INVALID', async () => {
    await expect(configured([withInstructionFunc(() => undefined as never)])).rejects.toThrow(
      'withInstructionFunc: expected a string or { value, ctx }, got undefined',
    )
  })
})

describe('3.6 withTools', () => {
  it('appends, with returnDirectly false unless said otherwise', async () => {
    const config = await configured([withTools(tool('a')), withTools({ tool: tool('b'), returnDirectly: true })])
    expect(config.tools.map(({ tool, returnDirectly }) => [tool.name, returnDirectly])).toEqual([
      ['a', false],
      ['b', true],
    ])
  })
  it('does not grow from run to run', async () => {
    const handler = withTools(tool('a'))
    await configured([handler])
    expect(names(await configured([handler]))).toEqual(['a'])
  })
  it('refuses a duplicate at construction, and a name that the agent has when it runs', async () => {
    expect(() => withTools(tool('a'), tool('a'))).toThrow(/tools: names must be unique, got "a" twice/)
    await expect(configured([withTools(tool('a')), withTools(tool('a'))])).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    })
  })
})

describe('3.6 withToolsFunc', () => {
  it('may remove what a handler before it added', async () => {
    const remove = withToolsFunc((_, tools) => tools.filter(({ tool }) => tool.name !== 'a'))
    expect(names(await configured([withTools(tool('a'), tool('b')), remove]))).toEqual(['b'])
  })
  it('may change returnDirectly: the later handler wins', async () => {
    const set = (returnDirectly: boolean) =>
      withToolsFunc((_, tools) => tools.map((meta) => ({ ...meta, returnDirectly })))
    const config = await configured([withTools(tool('a')), set(true), set(false)])
    expect(config.tools[0]?.returnDirectly).toBe(false)
  })
  it('refuses nonsense and duplicates with CONFIG_INVALID', async () => {
    await expect(configured([withToolsFunc(() => 'none' as never)])).rejects.toThrow(/expected a list of tools/)
    const twice = withToolsFunc((_, tools) => [...tools, ...tools])
    await expect(configured([withTools(tool('a')), twice])).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(configured([withToolsFunc(() => [{} as never])])).rejects.toThrow(/expected { tool, returnDirectly }/)
  })
})

describe('3.6 the helpers of one hook', () => {
  it.each([
    ['beforeAgent', withBeforeAgent],
    ['beforeModelRewriteHistory', withBeforeModelRewriteHistory],
    ['afterModelRewriteHistory', withAfterModelRewriteHistory],
    ['wrapInvokableToolCall', withInvokableToolWrapper],
    ['wrapStreamableToolCall', withStreamableToolWrapper],
  ] as const)('make a handler of %s alone', (hook, make) => {
    const fn = () => undefined as never
    const { name, ...rest } = make(fn)
    expect(name).toBe(make.name)
    expect(rest).toEqual({ [hook]: fn })
    expect(() => make('soon' as never)).toThrow(/expected a function, got "soon"/)
  })
})
