import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineTool } from './define-tool.ts'
import { parseArguments } from './parse-arguments.ts'
import type { Tool, ToolDefinition } from './tool.ts'
import { toolMetas } from './tool-metas.ts'

const sound = { name: 'look', description: 'Looks.', parameters: z.object({ at: z.string() }), invoke: () => 'A cat.' }
const looking = () => defineTool(sound) as Tool
const noValidator = () => []

describe('defineTool', () => {
  it('gives a tool of kind execute unless said otherwise', () => {
    expect(defineTool(sound).kind).toBe('execute')
    expect(defineTool({ ...sound, kind: 'read' }).kind).toBe('read')
  })

  it('takes a long-running tool without a body', () => {
    const { invoke: _, ...rest } = sound
    expect(defineTool({ ...rest, longRunning: true }).longRunning).toBe(true)
  })

  it.each<[string, object, string, RegExp]>([
    ['without a name', { name: '' }, 'CONFIG_INVALID', /tool: expected a name, got ""/],
    ['whose name is not a text', { name: 7 }, 'CONFIG_INVALID', /tool: expected a name, got 7/],
    ['without a description', { description: undefined }, 'CONFIG_INVALID', /tool look: expected a description/],
    [
      'of an unknown kind',
      { kind: 'delete' },
      'CONFIG_INVALID',
      /kind must be one of read, write, execute, think, got "delete"/,
    ],
    [
      'of an unknown effect',
      { effect: 'twice' },
      'CONFIG_INVALID',
      /effect must be one of pure, idempotent, once, nested/,
    ],
    ['without a body', { invoke: undefined }, 'CONFIG_INVALID', /expected invoke, stream or longRunning/],
    [
      'whose body is not a function',
      { invoke: 'look' },
      'CONFIG_INVALID',
      /invoke and stream are functions, got "look"/,
    ],
    [
      'whose schema is not a schema',
      { parameters: 'city' },
      'SCHEMA_INVALID',
      /tool look: schema: expected a JSON Schema/,
    ],
    [
      'whose schema is not an object',
      { parameters: z.string() },
      'SCHEMA_INVALID',
      /parameters must describe an object, got "string"/,
    ],
  ])('refuses a tool %s', (_, change, code, message) => {
    const definition = { ...sound, ...change } as ToolDefinition<typeof sound.parameters>
    expect(() => defineTool(definition)).toThrow(expect.objectContaining({ code }))
    expect(() => defineTool(definition)).toThrow(message)
  })
})

describe('toolMetas', () => {
  it('takes tools bare or with their options', () => {
    const direct = { tool: { ...looking(), name: 'answer' }, returnDirectly: true }
    expect(toolMetas([looking(), direct])).toMatchObject([{ returnDirectly: false }, { returnDirectly: true }])
  })

  it('refuses a duplicate tool name and says which', () => {
    expect(() => toolMetas([looking(), looking()])).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: 'tools: names must be unique, got "look" twice' }),
    )
  })

  it('refuses a value that is not a tool', () => {
    expect(() => toolMetas([undefined as never])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    expect(() => toolMetas([{ tool: {} as never, returnDirectly: false }])).toThrow(/tool: expected a name/)
  })
})

describe('parseArguments', () => {
  it('gives validated arguments', async () => {
    expect(await parseArguments(looking(), '{"at":"roof"}', noValidator)).toEqual({ at: 'roof' })
  })

  it('takes no text at all for no arguments', async () => {
    const tool = { ...looking(), parameters: z.object({}) }
    expect(await parseArguments(tool, ' ', noValidator)).toEqual({})
  })

  it.each(['{"at":', 'roof', '{"at":1}', '[]', 'null'])('refuses %s with VALIDATION_FAILED', async (text) => {
    await expect(parseArguments(looking(), text, noValidator)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('tool look: arguments are not valid'),
      details: { issues: [expect.objectContaining({ message: expect.any(String) })] },
    })
  })
})

it.each<[string, object, string]>([
  ['onError', { onError: 'trow' }, 'onError must be feedback or throw, got "trow"'],
  ['needsApproval', { needsApproval: true }, 'needsApproval must be a function like () => true, got true'],
  ['output', { output: 'markdwn' }, 'output must be text or markdown, got "markdwn"'],
  ['longRunning', { longRunning: 'yes' }, 'longRunning must be true or false, got "yes"'],
])('a tool whose %s is misspelt is refused', (_, change, message) => {
  const definition = { name: 't', description: 't', parameters: { type: 'object' }, invoke: () => 'x', ...change }
  expect(() => defineTool(definition as never)).toThrow(`tool t: ${message}`)
})
