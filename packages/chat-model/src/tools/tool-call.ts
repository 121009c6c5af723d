import {
  type Awaitable,
  type Content,
  type InvokeTool,
  KernelError,
  type Part,
  type RunContext,
  type StreamTool,
  stream,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
  type ToolOutput,
} from '@troupe/kernel'
import {
  got,
  isContent,
  isPromise,
  type JsonSchemaValidator,
  notJson,
  parseArguments,
  toolResult,
} from '@troupe/kernel/kit'
import { abortError } from '../errors/abort-error.ts'
import { isStop } from '../errors/is-stop.ts'
import { withinLimit } from '../errors/within-limit.ts'
import { markChecked } from './result-problem.ts'

/** Calls a tool, inside all wraps. Contract: a failure of the tool is a result; only aborts and interrupts are thrown. */
export function toolCall(
  validator: JsonSchemaValidator,
  timeoutMs: number | undefined,
): { invoke: InvokeTool; stream: StreamTool } {
  const parse = (input: ToolCallInput): Awaitable<unknown> => {
    if (input.tool) return parseArguments(input.tool, input.arguments, validator)
    throw new KernelError('TOOL_UNKNOWN', `tool ${input.name}: this agent has no such tool`)
  }
  return {
    invoke: (ctx, input) => limited(ctx, input, timeoutMs, (callCtx) => invoke(callCtx, input, parse(input))),
    stream: async (ctx, input) => {
      const { promise: result, resolve, reject } = Promise.withResolvers<ToolCallResult>()
      result.catch(() => undefined)
      const chunks = stream<string | Part>(async (sink) => {
        const work = limited(ctx, input, timeoutMs, async (callCtx) => {
          const args = await parse(input)
          callCtx.throwIfAborted()
          const chunks = (input.tool as StreamingTool).stream(args, callCtx, input)
          return streamTool(input, chunks, callCtx.signal, (chunk) => sink.write(chunk))
        })
        work.then(resolve, reject)
        await work
      })
      return { stream: chunks, result }
    },
  }
}

/** Contract: awaits only promises, which saves 0.1 of 2.9 µs of a tool step. */
function invoke(ctx: RunContext, input: ToolCallInput, args: Awaitable<unknown>): Awaitable<ToolCallResult> {
  if (isPromise(args)) return args.then((parsed) => invoke(ctx, input, parsed))
  ctx.throwIfAborted()
  const output = input.tool?.invoke?.(args, ctx, input)
  return isPromise(output) ? output.then((value) => resultOf(input, value)) : resultOf(input, output)
}

function resultOf({ name }: ToolCallInput, output: ToolOutput | void): ToolCallResult {
  return markChecked(toolResult(name, output))
}

type StreamingTool = Tool & { stream: NonNullable<Tool['stream']> }

async function streamTool(
  input: ToolCallInput,
  chunks: AsyncIterable<string | Part, ToolOutput | void>,
  signal: AbortSignal,
  write: (chunk: string | Part) => void | Promise<void>,
): Promise<ToolCallResult> {
  const iterator = chunks[Symbol.asyncIterator]()
  const parts: Part[] = []
  for (;;) {
    const { done, value } = await iterator.next()
    if (done) return resultOf(input, value === undefined ? { content: joined(parts) } : value)
    try {
      // After its time limit the `tool-end` may have been written.
      signal.throwIfAborted()
      parts.push(partOf(input, value))
      const wait = write(value)
      if (wait) await wait
    } catch (error) {
      await iterator.return?.()
      throw error
    }
  }
}

/** Contract: throws `TOOL_FAILED` for a chunk that is neither text nor a part. */
function partOf({ name }: ToolCallInput, chunk: string | Part): Part {
  const part: Part = typeof chunk === 'string' ? { type: 'text', text: chunk } : chunk
  if (notJson(part) === undefined && isContent([part])) return part
  throw new KernelError('TOOL_FAILED', `tool ${name}: a chunk of its stream must be text or a part, ${got(chunk)}`)
}

function joined(parts: readonly Part[]): Content {
  return parts.every(isText) ? parts.map(({ text }) => text).join('') : parts
}

function isText(part: Part): part is Part & { type: 'text' } {
  return part.type === 'text'
}

/** Runs a call under its time limit and makes a result of its failure. */
async function limited(
  ctx: RunContext,
  input: ToolCallInput,
  timeoutMs: number | undefined,
  call: (ctx: RunContext) => Awaitable<ToolCallResult>,
): Promise<ToolCallResult> {
  try {
    const result = timeoutMs === undefined ? call(ctx) : withinLimit(ctx, timeoutMs, `tool ${input.name}`, call)
    return isPromise(result) ? await result : result
  } catch (cause) {
    if (ctx.signal.aborted) throw abortError(ctx.signal.reason)
    const error = toolError(ctx, input.name, cause)
    if (error.code === 'INTERRUPTED') throw error
    return input.tool?.onError === 'throw' ? thrownResult(error) : failedResult(error)
  }
}

/** The error of a failed tool. Contract: an error that only looks like an abort or interrupt becomes `TOOL_FAILED`. */
export function toolError(ctx: RunContext, name: string, cause: unknown): KernelError {
  const error = KernelError.from(cause, 'TOOL_FAILED')
  if (!/^(ABORTED|INTERRUPTED)$/.test(error.code) || isStop(error, ctx)) return error
  return new KernelError('TOOL_FAILED', `tool ${name}: ${error.message}`, { cause })
}

/** The result of a failure that ends the run; the mark is JSON, so that a journal keeps it. */
function thrownResult(error: KernelError): ToolCallResult {
  const { details, ...info } = error.toJSON()
  const marked = { ...info, details: { ...details, thrown: true } }
  THROWN.set(marked, error)
  return { ...failedResult(error), error: marked }
}

/** The errors themselves, as long as their results do not cross a journal. */
const THROWN = new WeakMap<object, KernelError>()

/** The error that ends the run when a tool says `onError: 'throw'`. Contract: keeps code, details and cause, and names the tool. */
export function thrownError(tool: string, { error: info }: ToolCallResult): KernelError {
  const original = info && THROWN.get(info)
  const { thrown: _, ...details } = info?.details ?? {}
  const { code = 'TOOL_FAILED', message = 'no reason given' } = info ?? {}
  return new KernelError(code, message.startsWith(`tool ${tool}`) ? message : `tool ${tool} failed, ${message}`, {
    ...(original && { cause: original.cause ?? original }),
    retryable: info?.retryable ?? false,
    details: { ...details, tool },
  })
}

/** Whether the tool itself has thrown; false for an error that a handler has answered with. */
export function isThrown({ error }: ToolCallResult): boolean {
  return error?.details?.thrown === true
}

/** The result of a failure, as the model sees it. */
export function failedResult(error: KernelError): ToolCallResult {
  return { content: `Error: ${error.message}`, error: error.toJSON() }
}
