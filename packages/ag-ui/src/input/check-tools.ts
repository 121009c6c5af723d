import type { Tool } from '@ag-ui/core'
import { KernelError } from '@troupe/kernel'
import { got, toJsonSchema } from '@troupe/kernel/kit'
import { parametersOf } from '../client-tools/client-proxy-tool.ts'
import { invalidInput, pathOf } from './check-json.ts'

const LONGEST_NAME = 128

/** Checks client tools. Contract: throws `VALIDATION_FAILED` for tools that no model accepts; nesting has been checked before. */
export function checkTools(
  tools: readonly Tool[],
  limits: { readonly tools: number; readonly patternLength: number },
): void {
  if (tools.length > limits.tools) throw invalidInput('tools', `expected at most ${limits.tools}, got ${tools.length}`)
  const names = new Set<string>()
  tools.forEach(({ name, parameters }, i) => {
    if (name === '' || name.length > LONGEST_NAME || !/^[^\s\p{C}]+$/u.test(name)) {
      throw invalidInput(`tools[${i}].name`, `expected 1 to ${LONGEST_NAME} characters without spaces, ${got(name)}`)
    }
    if (names.has(name)) throw invalidInput(`tools[${i}].name`, `expected unique names, ${got(name)} twice`)
    names.add(name)
    if (parameters === undefined) return
    checkObject(parameters, `tools[${i}].parameters`)
    checkPatterns(parameters, ['tools', i, 'parameters'], limits.patternLength)
  })
}

function checkObject(parameters: unknown, path: string): void {
  const type: unknown = isRecord(parameters) && !Array.isArray(parameters) ? (parameters.type ?? 'object') : parameters
  if (type !== 'object') throw invalidInput(path, `expected a JSON Schema of an object, ${got(type)}`)
  try {
    toJsonSchema(parametersOf({ parameters }))
  } catch (cause) {
    throw invalidInput(path, KernelError.from(cause).message)
  }
}

function checkPatterns(schema: unknown, path: readonly PropertyKey[], longest: number): void {
  if (Array.isArray(schema)) {
    schema.forEach((entry, i) => {
      checkPatterns(entry, [...path, i], longest)
    })
  }
  if (!isRecord(schema) || Array.isArray(schema)) return
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'pattern' && typeof value === 'string') checkPattern(value, [...path, key], longest)
    if (key === 'patternProperties' && isRecord(value)) {
      for (const pattern of Object.keys(value)) checkPattern(pattern, [...path, key], longest)
    }
    checkPatterns(value, [...path, key], longest)
  }
}

function checkPattern(pattern: string, path: readonly PropertyKey[], longest: number): void {
  if (pattern.length > longest) {
    throw invalidInput(pathOf(path), `expected a pattern of at most ${longest} characters, got ${pattern.length}`)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
