import type { ToolCallResult } from '@troupe/kernel'
import { got, isContent, notJson } from '@troupe/kernel/kit'

/** Values of result properties that are JSON all through. */
const JSON_VALUES = new WeakSet<object>()
/** Lists that are content. */
const CONTENTS = new WeakSet<object>()

/**
 * Says what was expected of an invalid result; undefined for a valid one.
 * Contract: a `content`, `data`, … that has passed once is not walked again, so a big result costs the same through any number
 * of wraps; a wrap that changes a part puts a new object in its place.
 */
export function resultProblem(result: ToolCallResult): string | undefined {
  if (result === undefined) return '{ content } but got nothing; return await next(ctx, input)'
  if (!isObject(result)) return `{ content }, ${got(result)}`
  const broken = notJsonIn(result)
  if (broken !== undefined) return `plain JSON, but not at ${broken || 'its root'}`
  const content: unknown = result?.content
  if (isObject(content) && CONTENTS.has(content)) return undefined
  if (!isContent(content)) return '{ content } with text or parts'
  if (isObject(content)) CONTENTS.add(content)
  return undefined
}

/** Marks a result as checked. Contract: only for results of `toolResult`, which has walked them. */
export function markChecked(result: ToolCallResult): ToolCallResult {
  for (const value of Object.values(result)) if (isObject(value)) JSON_VALUES.add(value)
  if (isObject(result.content)) CONTENTS.add(result.content)
  return result
}

/** Like `notJson`, without the values that have passed before. */
function notJsonIn(result: unknown): string | undefined {
  if (!isObject(result) || Array.isArray(result)) return notJson(result)
  const prototype: unknown = Object.getPrototypeOf(result)
  if (prototype !== Object.prototype && prototype !== null) return ''
  for (const key in result) {
    // A later copy by assignment would change a prototype.
    if (key === '__proto__') return `.${key}`
    const value: unknown = result[key]
    if (isObject(value) && JSON_VALUES.has(value)) continue
    const found = notJson(value, `.${key}`, 1)
    if (found !== undefined) return found
    if (isObject(value)) JSON_VALUES.add(value)
  }
  return undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
