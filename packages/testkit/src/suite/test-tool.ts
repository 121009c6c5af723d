import {
  checkOptionNames,
  type Json,
  KernelError,
  type Part,
  parseArguments,
  type RunContext,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
  type ToolOutput,
  textOf,
  toJsonSchema,
  toolMetas,
  toolResult,
} from '@troupe/kernel'
import { expect } from 'vitest'
import { type Clause, register } from '../clause.ts'
import { jsonSchemaValidator } from '../validator.ts'
import { callContext, expectJson, expectNoListeners, frozen, promptly } from './patience.ts'

/** What a tool is called with during its suite. */
export interface TestToolOptions {
  /** Arguments that the tool accepts. */
  readonly args: Json
  /** Arguments that it refuses. @default a list, which no tool takes */
  readonly invalid?: readonly Json[]
  /** Puts the values into the context that the tool reads. */
  readonly prepare?: (ctx: RunContext) => RunContext
}

/**
 * The contract of `Tool` as tests.
 * @example testTool('weather', () => weatherTool(), { args: { city: 'Beijing' } })
 */
export function testTool(name: string, make: () => Tool, options: TestToolOptions): void {
  checkOptionNames('testTool', options, { args: true, invalid: true, prepare: true }, { arguments: 'args' })
  register(name, toolClauses(make, options))
}

export function toolClauses(make: () => Tool, options: TestToolOptions): readonly Clause[] {
  const { args, invalid = [[]], prepare = (ctx) => ctx } = options
  const parse = async (tool: Tool, value: Json) => parseArguments(tool, JSON.stringify(value), jsonSchemaValidator)
  const call = async (tool: Tool, signal: AbortSignal, callId = 'call-1') => {
    const ctx = prepare(callContext({ signal }))
    return use(tool, frozen(await parse(tool, args)), ctx, inputOf(tool, args, callId))
  }
  const clauses: Clause[] = [
    {
      name: 'is a valid definition',
      run: async () => {
        toolMetas([make()])
      },
    },
    {
      name: 'shows the model a JSON Schema of an object',
      run: async () => {
        const schema = toJsonSchema(make().parameters)
        expectJson(schema)
        expect(schema.type).toBe('object')
      },
    },
    {
      name: 'accepts its example arguments',
      run: async () => {
        await parse(make(), args)
      },
    },
    {
      name: 'refuses arguments that are not valid',
      run: async () => {
        for (const value of invalid) {
          const outcome = await promptly('parsing', parse(make(), value))
          const error: unknown = 'error' in outcome ? outcome.error : undefined
          expect(KernelError.is(error, 'VALIDATION_FAILED'), `refuses ${JSON.stringify(value)}`).toBe(true)
        }
      },
    },
    {
      name: 'gives text or a result made of plain JSON',
      run: async () => {
        for (const { chunks, output } of await answered(call(make(), new AbortController().signal))) {
          for (const chunk of chunks) checkChunk(chunk)
          checkOutput(output)
        }
      },
    },
    {
      name: 'leaves no listener on the signal',
      run: async () => {
        const { signal } = new AbortController()
        await answered(call(make(), signal))
        expectNoListeners(signal)
      },
    },
    {
      name: 'settles at once when it is aborted',
      run: async () => {
        for (const turns of [0, 1, 3]) {
          const controller = new AbortController()
          const running = call(make(), controller.signal)
          running.catch(() => undefined)
          for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
          controller.abort(new KernelError('ABORTED', 'test: stop'))
          await promptly('an aborted call', running)
          expectNoListeners(controller.signal)
        }
      },
    },
    {
      name: 'says yes or no when asked whether it needs approval',
      run: async () => {
        const tool = make()
        if (!tool.needsApproval) return
        const needed = await tool.needsApproval(await parse(tool, args), prepare(callContext()))
        expect(typeof needed).toBe('boolean')
      },
    },
    {
      name: 'gives calls at the same time the results they would have alone, if it is pure',
      run: async () => {
        const tool = make()
        if (tool.effect !== 'pure') return
        const { signal } = new AbortController()
        const alone = texts(await call(make(), signal, 'alone'))
        const together = await Promise.all(Array.from({ length: 20 }, (_, i) => call(tool, signal, `call-${i}`)))
        for (const outcome of together) expect(texts(outcome)).toEqual(alone)
      },
    },
    {
      name: 'can be left while it streams',
      run: async () => {
        const tool = make()
        if (!tool.stream) return
        const { signal } = new AbortController()
        const ctx = prepare(callContext({ signal }))
        const chunks = tool.stream(frozen(await parse(tool, args)), ctx, inputOf(tool, args, 'call-1'))
        const leave = async () => {
          for await (const _ of chunks) break
        }
        expect(await promptly('leaving', leave())).toEqual({ value: undefined })
        expectNoListeners(signal)
      },
    },
  ]
  return clauses
}

/** What a call came to; one that asks a person came to nothing yet. */
async function answered(work: Promise<readonly Used[]>): Promise<readonly Used[]> {
  try {
    return await work
  } catch (error) {
    if (KernelError.is(error, 'INTERRUPTED')) return []
    throw error
  }
}

interface Used {
  readonly chunks: readonly (string | Part)[]
  readonly output: ToolOutput | void
}

/** Calls a tool in every way it can be called. */
async function use(tool: Tool, args: unknown, ctx: RunContext, input: ToolCallInput): Promise<Used[]> {
  const used: Used[] = []
  if (tool.invoke) used.push({ chunks: [], output: await tool.invoke(args, ctx, input) })
  if (tool.stream) {
    const chunks: (string | Part)[] = []
    const iterator = tool.stream(args, ctx, input)[Symbol.asyncIterator]()
    let step = await iterator.next()
    for (; !step.done; step = await iterator.next()) chunks.push(step.value)
    used.push({ chunks, output: step.value })
  }
  return used
}

function inputOf(tool: Tool, args: Json, callId: string): ToolCallInput {
  const text = JSON.stringify(args)
  return { name: tool.name, arguments: text, callId, step: 'tool:0:0', idempotencyKey: callId, tool }
}

function texts(used: readonly Used[]): string[] {
  return used.map(({ chunks, output }) => {
    const result = output === undefined ? chunks : typeof output === 'object' ? output.content : output
    return JSON.stringify(result)
  })
}

function checkChunk(chunk: string | Part): void {
  if (typeof chunk !== 'string') checkPart(chunk)
}

function checkPart(part: Part): void {
  expectJson(part)
  expect(['text', 'reasoning', 'file']).toContain(part.type)
}

function checkOutput(output: ToolOutput | void): void {
  checkResult(toolResult('tool', output))
}

/** Contract: a result has content for the model, and everything in it is plain JSON. */
export function checkResult(result: ToolCallResult): void {
  expectJson(result)
  expect(typeof result).toBe('object')
  const { content } = result
  if (typeof content !== 'string') for (const part of content) checkPart(part)
  expect(typeof textOf(content)).toBe('string')
}
