import { type Awaitable, KernelError, type RunContext, type ToolCallInput, type ToolCallResult } from '@troupe/kernel'
import { isPromise, sleep } from '@troupe/kernel/kit'
import { abortError } from '../errors/abort-error.ts'
import { withinLimit } from '../errors/within-limit.ts'
import { pauseOf, type RetryPolicy } from '../model/retry.ts'
import { failedResult, thrownResult, toolError } from './failed-result.ts'

/** The time limit of one attempt, and when another one follows. */
export interface AttemptPolicy {
  readonly timeoutMs: number | undefined
  readonly retry: RetryPolicy
}

/**
 * Calls a tool, again if its failure may pass, and makes a result of the last failure.
 * Contract: a tool is called again only if its effect allows it, and only if the attempt before has shown, sent and asked nothing.
 */
export async function attemptCall(
  ctx: RunContext,
  input: ToolCallInput,
  { timeoutMs, retry }: AttemptPolicy,
  call: (ctx: RunContext) => Awaitable<ToolCallResult>,
  hasShown: () => boolean = never,
): Promise<ToolCallResult> {
  for (let made = 1; ; made++) {
    try {
      const result = timeoutMs === undefined ? call(ctx) : withinLimit(ctx, timeoutMs, `tool ${input.name}`, call)
      return counted(isPromise(result) ? await result : result, made)
    } catch (cause) {
      const error = failureOf(ctx, input, cause)
      const pause = mayRepeat(ctx, input, error) && !hasShown() ? pauseOf(retry, error, made) : undefined
      if (pause === undefined) return counted(resultOf(input, afterAttempts(error, made)), made)
      await pauseFor(ctx, pause)
    }
  }
}

function never(): boolean {
  return false
}

/** The failure of an attempt. Contract: throws an abort and a question. */
function failureOf(ctx: RunContext, { name }: ToolCallInput, cause: unknown): KernelError {
  if (ctx.signal.aborted) throw abortError(ctx.signal.reason)
  const error = toolError(ctx, name, cause)
  if (error.code === 'INTERRUPTED') throw error
  return error
}

/** Says how often a call was made that failed for good. */
function afterAttempts(error: KernelError, attempts: number): KernelError {
  if (attempts === 1) return error
  return KernelError.within(`gave up after ${attempts} attempts, `, error, 'TOOL_FAILED', { attempts })
}

function resultOf({ tool }: ToolCallInput, error: KernelError): ToolCallResult {
  return tool?.onError === 'throw' ? thrownResult(error) : failedResult(error)
}

/** Failures that another attempt does not change: those of the model's arguments, a result that is too large, and a stop. */
const LASTING: ReadonlySet<string> = new Set(['VALIDATION_FAILED', 'TOOL_UNKNOWN', 'RESULT_TOO_LARGE', 'ABORTED'])

function mayRepeat(ctx: RunContext, { tool }: ToolCallInput, { code }: KernelError): boolean {
  const repeatable = tool?.effect === 'pure' || tool?.effect === 'idempotent'
  return repeatable && !LASTING.has(code) && !ctx.acted && ctx.cancelling === undefined
}

async function pauseFor(ctx: RunContext, ms: number): Promise<void> {
  try {
    await sleep(ctx.clock, ms, ctx.signal)
  } catch (reason) {
    throw abortError(reason)
  }
}

function counted(result: ToolCallResult, attempts: number): ToolCallResult {
  return attempts === 1 ? result : { ...result, attempts }
}
