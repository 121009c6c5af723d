import {
  type AgentAction,
  type Json,
  KernelError,
  type Part,
  type RunContext,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
  type ToolOutput,
} from '@troupe/kernel'
import { checkOptionNames, parseArguments, toJsonSchema, toolMetas, toolResult } from '@troupe/kernel/kit'
import { type Clause, register } from '../clause.ts'
import { demand, demandEqual, firstCause, shown } from '../fault.ts'
import { jsonSchemaValidator } from '../json-schema-validator.ts'
import { demandNoListeners } from './listeners.ts'
import { madeBy } from './made-by.ts'
import { callContext, demandJson, frozen, isAsyncIterable, promptly } from './patience.ts'

/** Options of `testTool`: the arguments and the context of the calls. */
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
 * @example testTool('weather', () => weather, { args: { city: 'Beijing' } })
 */
export function testTool(name: string, make: () => Tool, options: TestToolOptions): void {
  checkOptionNames('testTool', options, { args: true, invalid: true, prepare: true }, { arguments: 'args' })
  register(name, toolClauses(make, options))
}

export function toolClauses(factory: () => Tool, options: TestToolOptions): readonly Clause[] {
  const make = () => madeBy(factory, 'tool')
  const { args, invalid = [[]], prepare = (ctx) => ctx } = options
  const parse = async (tool: Tool, value: Json) => parseArguments(tool, JSON.stringify(value), jsonSchemaValidator)
  const example = async (tool: Tool) => {
    try {
      return await parse(tool, args)
    } catch (error) {
      throw firstCause(error, (text) => `Your tool ${tool.name} refuses its example arguments: ${text}`, DOES_NOT_FIT)
    }
  }
  const call = async (tool: Tool, signal: AbortSignal, callId = 'call-1', onAction?: (action: AgentAction) => void) => {
    const ctx = prepare(callContext({ signal }, onAction))
    return use(tool, frozen(await example(tool)), ctx, inputOf(tool, args, callId))
  }
  const clauses: Clause[] = [
    {
      name: 'is a valid definition',
      todo: 'Make it with `defineTool`, which says what is missing where you write it.',
      run: async () => {
        toolMetas([make()])
      },
    },
    {
      name: 'shows the model a JSON Schema of an object',
      todo: 'Describe the arguments as an object: `parameters: { type: "object", properties: { … } }`, or a zod object.',
      run: async () => {
        const schema = toJsonSchema(make().parameters)
        demandJson(schema, 'The schema of the arguments')
        demand(schema.type === 'object', `The schema of the arguments describes ${shown(schema.type)}, not an object`)
      },
    },
    {
      name: 'accepts its example arguments',
      todo: DOES_NOT_FIT,
      run: async () => {
        await example(make())
      },
    },
    {
      name: 'refuses arguments that are not valid',
      todo: 'Say in `parameters` what the tool needs (`required`, types), so that a model hears at once what it did wrong; or remove them from `invalid` in the options of testTool.',
      run: async () => {
        for (const value of invalid) {
          const tool = make()
          const outcome = await promptly('The schema did not judge the arguments', parse(tool, value))
          if ('error' in outcome && KernelError.is(outcome.error, 'VALIDATION_FAILED')) continue
          if ('error' in outcome)
            throw firstCause(
              outcome.error,
              (text) => `Your tool ${tool.name} threw ${text} while it checked ${shown(value)}`,
            )
          demand(false, `Your tool ${tool.name} takes the arguments ${shown(value)}, which are in \`invalid\``)
        }
      },
    },
    {
      name: 'gives text or any JSON value',
      todo: RETURN_JSON,
      run: async () => {
        const tool = make()
        for (const { chunks, output } of await answered(call(tool, new AbortController().signal))) {
          for (const chunk of chunks) if (typeof chunk !== 'string') demandPart(chunk, 'A chunk of the stream')
          demandResult(toolResult(tool.name, output), `Your tool ${tool.name}`, RETURN_JSON)
        }
      },
    },
    {
      name: 'sends no action if it is pure',
      todo: "Say `effect: 'once'` (or leave `effect` out): a cache answers a pure call without making it, and then nothing happens.",
      run: async () => {
        const tool = make()
        if (tool.effect !== 'pure') return 'the tool does not say that it is pure'
        const sent: AgentAction[] = []
        const { signal } = new AbortController()
        await answered(call(tool, signal, 'call-1', (action) => void sent.push(action)))
        demand(sent.length === 0, `The tool says that it is pure, and sends the action ${shown(sent[0])}`)
      },
    },
    {
      name: 'leaves no listener on the signal',
      todo: 'Remove each listener in a `finally`.',
      run: async () => {
        const { signal } = new AbortController()
        const tool = make()
        await Promise.all(Array.from({ length: CALLS }, (_, i) => answered(call(tool, signal, `call-${i}`))))
        await demandNoListeners(signal, 'The tool', CALLS)
      },
    },
    {
      name: 'settles at once when it is aborted',
      todo: 'Give `ctx.signal` to everything that takes time: fetch(url, { signal: ctx.signal }), ctx.signal.throwIfAborted() in loops.',
      run: async () => {
        for (const turns of [0, 1, 3]) {
          const controller = new AbortController()
          const running = call(make(), controller.signal)
          running.catch(() => undefined)
          for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
          controller.abort(new KernelError('ABORTED', 'test: stop'))
          await promptly('The tool was aborted and did not settle', running)
          await demandNoListeners(controller.signal, 'An aborted call')
        }
      },
    },
    {
      name: 'says yes or no when asked whether it needs approval',
      todo: 'Return true or false from `needsApproval`.',
      run: async () => {
        const tool = make()
        if (!tool.needsApproval) return 'the tool has no needsApproval'
        const needed: unknown = await tool.needsApproval(await parse(tool, args), prepare(callContext()))
        demand(typeof needed === 'boolean', `needsApproval answers ${shown(needed)}, which is neither true nor false`)
      },
    },
    {
      name: 'gives calls at the same time the results they would have alone, if it is pure',
      todo: "Keep nothing between calls, or do not say `effect: 'pure'`: a pure tool gives the same for the same arguments.",
      run: async () => {
        const tool = make()
        if (tool.effect !== 'pure') return 'the tool does not say that it is pure'
        const { signal } = new AbortController()
        const alone = texts(tool, await call(make(), signal, 'alone'))
        const together = await Promise.all(Array.from({ length: 20 }, (_, i) => call(tool, signal, `call-${i}`)))
        const wrong =
          'The tool says that it is pure, and gives the same arguments another result when calls run at once'
        for (const outcome of together) demandEqual(texts(tool, outcome), alone, wrong)
      },
    },
    {
      name: 'can be left while it streams',
      todo: 'Wait for nothing in the `finally` of `stream` that only comes when the stream is read to its end.',
      run: async () => {
        const tool = make()
        if (!tool.stream) return 'the tool has no stream'
        const { signal } = new AbortController()
        const ctx = prepare(callContext({ signal }))
        const input = inputOf(tool, args, 'call-1')
        const parsed = frozen(await example(tool))
        const open = tool.stream.bind(tool)
        const leave = async () => {
          for await (const _ of readable(tool, open(parsed, ctx, input))) break
        }
        const outcome = await promptly('The reader left the stream, which did not end', leave())
        // A stream that asks a person before its first chunk has been left already.
        if ('error' in outcome && !KernelError.is(outcome.error, 'INTERRUPTED')) throw thrown(tool, outcome.error)
        await demandNoListeners(signal, 'A stream that was left')
      },
    },
  ]
  return clauses
}

/** Calls at once on one signal: enough to tell a leak from a listener that goes later. */
const CALLS = 5

/** The outcome of a call; a call that asks a person has none yet. */
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

/** Calls a tool in every way it can be called. Contract: what it throws is named, unless it asks a person or was aborted. */
async function use(tool: Tool, args: unknown, ctx: RunContext, input: ToolCallInput): Promise<Used[]> {
  const used: Used[] = []
  try {
    if (tool.invoke) used.push({ chunks: [], output: await tool.invoke(args, ctx, input) })
    if (tool.stream) {
      const chunks: (string | Part)[] = []
      const iterator = readable(tool, tool.stream(args, ctx, input))[Symbol.asyncIterator]()
      let step = await iterator.next()
      for (; !step.done; step = await iterator.next()) chunks.push(step.value)
      used.push({ chunks, output: step.value })
    }
    return used
  } catch (error) {
    throw thrown(tool, error)
  }
}

function thrown(tool: Tool, error: unknown): unknown {
  if (KernelError.is(error, 'INTERRUPTED')) return error
  const todo =
    'Fix that first: every clause calls the tool with `args`. If it needs values in the context, give `prepare` to testTool.'
  return firstCause(error, (text) => `Your tool ${tool.name} threw ${text} for the example arguments`, todo)
}

function readable<Chunks>(tool: Tool, chunks: Chunks): Chunks {
  const wrong = `stream() of your tool ${tool.name} gave ${shown(chunks)}, which cannot be read with \`for await\``
  demand(isAsyncIterable(chunks), wrong, 'Write stream() as an async generator: `async *stream(args, ctx) { … }`.')
  return chunks
}

const DOES_NOT_FIT =
  'Correct `parameters` of the tool, or `args` in the options of testTool: one does not fit the other.'
const RETURN_JSON =
  'Return text or any JSON value; { content, data } if the model is to read something else than the data.'

function inputOf(tool: Tool, args: Json, callId: string): ToolCallInput {
  const text = JSON.stringify(args)
  return { name: tool.name, arguments: text, callId, step: 'tool:0:0', idempotencyKey: callId, tool }
}

function texts({ name }: Tool, used: readonly Used[]): string[] {
  return used.map(({ chunks, output }) => {
    const result = output === undefined ? chunks : toolResult(name, output).content
    return JSON.stringify(result)
  })
}

function demandPart(part: Part, what: string): void {
  demand(typeof part === 'object' && part !== null, `${what} is ${shown(part)}`, 'Yield text, or parts: { type, … }.')
  demandJson(part, what)
  const known = ['text', 'reasoning', 'file']
  demand(known.includes(part.type), `${what} has the type ${shown(part.type)}`, `Use one of ${known.join(', ')}.`)
}

/** Contract: a result has content for the model, and everything in it is plain JSON. */
export function demandResult(
  result: ToolCallResult,
  who: string,
  advice: string = 'Return what `next` gave, or an object with `content` for the model.',
): void {
  demand(typeof result === 'object' && result !== null, `${who} gave ${shown(result)} as a result`, advice)
  demandJson(result, 'The result')
  const { content } = result
  if (typeof content === 'string') return
  demand(Array.isArray(content), `${who} gave a result without content: ${shown(result)}`, advice)
  for (const part of content) demandPart(part, 'A part of the result')
}
