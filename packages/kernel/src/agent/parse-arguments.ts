import { type Awaitable, isPromise } from '../data/json.ts'
import { KernelError } from '../data/kernel-error.ts'
import { type JsonSchemaValidator, validate } from '../data/schema.ts'
import type { Tool } from './tool.ts'

/**
 * Parses and validates the text a model wrote; no text at all counts as `{}`.
 * Contract: rejects with `VALIDATION_FAILED`; returns no promise where nothing has to be awaited; called innermost, after the wraps.
 * @example const args = await parseArguments(tool, call.arguments, validator)
 */
export function parseArguments(tool: Tool, text: string, validator: JsonSchemaValidator): Awaitable<unknown> {
  let value: unknown
  try {
    value = text.trim() === '' ? {} : JSON.parse(text)
  } catch (cause) {
    const message = `tool ${tool.name}: arguments are not valid JSON, ${KernelError.from(cause).message}`
    const details = { issues: [{ path: '', message }] }
    return Promise.reject(new KernelError('VALIDATION_FAILED', message, { cause, details }))
  }
  try {
    const args = validate(tool.parameters, value, validator)
    return isPromise(args) ? args.then(undefined, (cause) => Promise.reject(notValid(tool, cause))) : args
  } catch (cause) {
    return Promise.reject(notValid(tool, cause))
  }
}

function notValid({ name }: Tool, cause: unknown): KernelError {
  const { code, message, details } = KernelError.from(cause, 'VALIDATION_FAILED')
  return new KernelError(code, `tool ${name}: arguments are not valid, ${message}`, { cause, details })
}
