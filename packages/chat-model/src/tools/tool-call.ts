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
import { beforeEffect } from '@troupe/kernel/run'
import { CallPermission, PERMISSION, type Permitted } from './approval.ts'
import { type AttemptPolicy, attemptCall } from './attempt-call.ts'
import { checkLength, markMeasured, ResultLength } from './result-length.ts'
import { markChecked } from './result-problem.ts'
import { TOOL_NAMES } from './toolbox.ts'

/** Calls a tool, inside all wraps. Contract: a failure of the tool is a result; only aborts and interrupts are thrown. */
export function toolCall(
  validator: JsonSchemaValidator,
  policy: AttemptPolicy,
  maxResultChars: number,
): { invoke: InvokeTool; stream: StreamTool } {
  const parse = (input: ToolCallInput, ctx: RunContext): Awaitable<unknown> => {
    if (input.tool) return parseArguments(input.tool, input.arguments, validator)
    throw unknownTool(input.name, ctx)
  }
  return {
    invoke: (ctx, input) =>
      attemptCall(ctx, input, policy, (callCtx) => {
        const args = parse(input, callCtx)
        return input.tool?.needsApproval
          ? invokePermitted(callCtx, input, input.tool, args, validator, maxResultChars)
          : invoke(callCtx, input, args, maxResultChars)
      }),
    stream: async (ctx, input) => {
      const { promise: result, resolve, reject } = Promise.withResolvers<ToolCallResult>()
      result.catch(() => undefined)
      const chunks = stream<string | Part>(async (sink) => {
        let shown = false
        const write = (chunk: string | Part) => {
          shown = true
          return sink.write(chunk)
        }
        const attempt = async (callCtx: RunContext) => {
          const tool = input.tool as StreamingTool
          const permitted = await permittedCall(callCtx, input, tool, await parse(input, callCtx), validator)
          if (permitted.refusal) return permitted.refusal
          callCtx.throwIfAborted()
          await beforeEffect(callCtx)
          const chunks = tool.stream(permitted.args, callCtx, permitted.input)
          return streamTool(input, chunks, callCtx.signal, write, maxResultChars)
        }
        const work = attemptCall(ctx, input, policy, attempt, () => shown)
        work.then(resolve, reject)
        await work
      })
      return { stream: chunks, result }
    },
  }
}

async function invokePermitted(
  ctx: RunContext,
  input: ToolCallInput,
  tool: Tool,
  args: Awaitable<unknown>,
  validator: JsonSchemaValidator,
  most: number,
): Promise<ToolCallResult> {
  const permitted = await permittedCall(ctx, input, tool, await args, validator)
  return permitted.refusal ?? invoke(ctx, permitted.input, permitted.args, most)
}

/** Decides whether a call may run, with the arguments that the tool would get. */
function permittedCall(
  ctx: RunContext,
  input: ToolCallInput,
  tool: Tool,
  args: unknown,
  validator: JsonSchemaValidator,
): Awaitable<Permitted> {
  if (!tool?.needsApproval) return { args, input }
  // A wrap may have put in a tool that the agent does not know.
  const permission = ctx.get(PERMISSION) ?? new CallPermission(ctx, false, {})
  return permission.permit(tool, input, args, validator, ctx)
}

/** The error of a call whose tool does not exist. Contract: tells the model what there is. */
function unknownTool(name: string, ctx: RunContext): KernelError {
  const names = ctx.get(TOOL_NAMES) ?? []
  const known = names.length === 0 ? 'it has no tools' : `its tools are ${names.join(', ')}`
  return new KernelError('TOOL_UNKNOWN', `tool ${name}: this agent has no such tool; ${known}`, { details: { names } })
}

/** Contract: awaits only promises, which saves 0.1 of 2.9 µs of a tool step. */
function invoke(
  ctx: RunContext,
  input: ToolCallInput,
  args: Awaitable<unknown>,
  most: number,
): Awaitable<ToolCallResult> {
  if (isPromise(args)) return args.then((parsed) => invoke(ctx, input, parsed, most))
  ctx.throwIfAborted()
  const wait = beforeEffect(ctx)
  return wait ? wait.then(() => invokeNow(ctx, input, args, most)) : invokeNow(ctx, input, args, most)
}

function invokeNow(ctx: RunContext, input: ToolCallInput, args: unknown, most: number): Awaitable<ToolCallResult> {
  const output = input.tool?.invoke?.(args, ctx, input)
  return isPromise(output) ? output.then((value) => resultOf(input, value, most)) : resultOf(input, output, most)
}

function resultOf({ name }: ToolCallInput, output: ToolOutput | void, most: number): ToolCallResult {
  checkLength(name, output, most)
  return markMeasured(markChecked(toolResult(name, output)))
}

type StreamingTool = Tool & { stream: NonNullable<Tool['stream']> }

async function streamTool(
  input: ToolCallInput,
  chunks: AsyncIterable<string | Part, ToolOutput | void>,
  signal: AbortSignal,
  write: (chunk: string | Part) => void | Promise<void>,
  most: number,
): Promise<ToolCallResult> {
  const iterator = chunks[Symbol.asyncIterator]()
  const length = new ResultLength(input.name, most)
  const parts: Part[] = []
  for (;;) {
    const { done, value } = await iterator.next()
    if (done) return resultOf(input, value === undefined ? { content: joined(parts) } : value, most)
    try {
      // After its time limit the `tool-end` may have been written.
      signal.throwIfAborted()
      length.add(value)
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
