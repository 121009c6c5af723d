import { jsonOf, notJson } from '../data/json.ts'
import { isObject, KernelError } from '../data/kernel-error.ts'
import type { Content, Part } from '../data/message.ts'
import type { ToolCallResult, ToolOutput } from './tool.ts'

/** The properties of a result that a tool can set. */
const PROPERTIES = { content: true, display: true, data: true, error: true, direct: true } satisfies Record<
  Exclude<keyof ToolCallResult, 'attempts'>,
  true
>
const PARTS: Record<Part['type'], true> = { text: true, reasoning: true, file: true }

/**
 * Makes a result of the value that a tool returned.
 * Contract: undefined becomes empty text; throws `TOOL_FAILED` with the tool and the path for a value that is not JSON.
 * @example toolResult('get_weather', { celsius: 24 }) // { content: '{"celsius":24}', data: { celsius: 24 } }
 */
export function toolResult(tool: string, output: ToolOutput | void): ToolCallResult {
  if (output === undefined) return EMPTY
  if (typeof output === 'string') return { content: output }
  const fail = (path: string, why: string) => notJsonAt(tool, path, why)
  if (isResult(output)) return notJson(output) === undefined ? output : (jsonOf(output, fail) as ToolCallResult)
  const data = jsonOf(output, fail)
  return { content: JSON.stringify(data), data }
}

const EMPTY: ToolCallResult = { content: '' }

function notJsonAt(tool: string, path: string, why: string): KernelError {
  const where = path === '' ? 'its result' : `its result at ${path}`
  const message = `tool ${tool}: ${where} ${why}, which is not JSON; return text, a JSON value or { content }`
  return new KernelError('TOOL_FAILED', message, { details: { tool, path } })
}

/** Whether a value is a whole result, and not data that happens to have a `content`. */
function isResult(value: unknown): value is ToolCallResult {
  if (!isObject(value) || Array.isArray(value) || !isContent(value.content)) return false
  return Object.keys(value).every((key) => Object.hasOwn(PROPERTIES, key))
}

/** Whether a value is text or a list of parts. */
export function isContent(value: unknown): value is Content {
  if (typeof value === 'string') return true
  return Array.isArray(value) && value.every((part) => isObject(part) && Object.hasOwn(PARTS, part.type as string))
}
