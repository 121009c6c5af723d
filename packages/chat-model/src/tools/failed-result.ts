import { KernelError, type RunContext, type ToolCallResult } from '@troupe/kernel'
import { isStop } from '../errors/is-stop.ts'

/** The error of a failed tool. Contract: an error that only looks like an abort or interrupt becomes `TOOL_FAILED`. */
export function toolError(ctx: RunContext, name: string, cause: unknown): KernelError {
  const error = KernelError.from(cause, 'TOOL_FAILED')
  if (!/^(ABORTED|INTERRUPTED)$/.test(error.code) || isStop(error, ctx)) return error
  return new KernelError('TOOL_FAILED', `tool ${name}: ${error.message}`, { cause })
}

/** The result of a failure that ends the run; the mark is JSON, so that a journal keeps it. */
export function thrownResult(error: KernelError): ToolCallResult {
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
