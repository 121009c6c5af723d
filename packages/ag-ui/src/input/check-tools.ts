import type { Tool } from '@ag-ui/core'
import { ToolSchema } from '@ag-ui/core/schemas'
import { KernelError } from '@troupe/kernel'
import { got, toJsonSchema } from '@troupe/kernel/kit'
import { invalidInput, pathOf } from './check-json.ts'
import { parametersOf } from './parameters-of.ts'

/** The longest name of a tool. */
export const LONGEST_NAME = 128

type ToolLimits = { readonly tools: number; readonly patternLength: number }

/** Checks client tools. Contract: throws `VALIDATION_FAILED` for tools that no model accepts; nesting has been checked before. */
export function checkTools(tools: readonly Tool[], limits: ToolLimits): void {
  checkCount(tools, limits)
  const names = new Set<string>()
  for (const [i, tool] of tools.entries()) checkTool(tool, i, names, limits)
}

/** The client tools that a model accepts. Contract: one bad definition does not refuse the others; `onRefused` gets the reason. */
export function usableTools(
  tools: readonly unknown[],
  limits: ToolLimits,
  onRefused: (reason: KernelError) => void,
): readonly unknown[] {
  checkCount(tools, limits)
  const names = new Set<string>()
  return tools.filter((tool, i) => {
    try {
      const given = Object.entries(Object(tool)).filter(([, value]) => value !== null)
      const { success, error } = ToolSchema.safeParse(Object.fromEntries(given))
      if (!success) throw invalidInput(`tools[${i}]`, error.issues[0]?.message ?? 'does not fit the protocol')
      checkTool(tool as Tool, i, names, limits)
      return true
    } catch (error) {
      onRefused(KernelError.from(error))
      return false
    }
  })
}

function checkCount({ length }: readonly unknown[], { tools }: ToolLimits): void {
  if (length > tools) throw invalidInput('tools', `expected at most ${tools}, got ${length}`)
}

function checkTool({ name, parameters }: Tool, i: number, names: Set<string>, { patternLength }: ToolLimits): void {
  if (name === '' || name.length > LONGEST_NAME || !/^[^\s\p{C}]+$/u.test(name)) {
    throw invalidInput(`tools[${i}].name`, `expected 1 to ${LONGEST_NAME} characters without spaces, ${got(name)}`)
  }
  if (names.has(name)) throw invalidInput(`tools[${i}].name`, `expected unique names, ${got(name)} twice`)
  if (parameters !== undefined && parameters !== null) {
    checkObject(parameters, `tools[${i}].parameters`)
    checkPatterns(parameters, ['tools', i, 'parameters'], patternLength)
  }
  names.add(name)
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
