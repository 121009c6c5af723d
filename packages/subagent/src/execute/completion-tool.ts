import {
  defineTool,
  type Json,
  type JsonSchema,
  KernelError,
  type Schema,
  type StandardSchema,
  type Tool,
} from '@troupe/kernel'
import { notJson, toJsonSchema } from '@troupe/kernel/kit'
import { type AgentDefinition, COMPLETE_TASK } from '../define/define-agent.ts'
import { BUDGET } from './budget.ts'
import { textOfOutput } from './subagent-status.ts'

const TEXT: JsonSchema = {
  type: 'string',
  description: 'Your result, complete: nobody sees anything else of your work.',
}

/** The text after every prompt that tells an agent how to submit its result. */
export const COMPLETION_INSTRUCTION: string = `You work alone: nobody answers questions and nobody sees your messages. When you are done, call \`${COMPLETE_TASK}\` with your result; this is the only way to hand it in. If you cannot reach the goal, call it all the same and say how far you came.`

/**
 * Makes the tool with which an agent submits its result.
 * Contract: its arguments are the output schema, or `{ result }` if that does not describe an object; an invalid result is an error for the model under the same call id; the first valid result counts.
 */
export function completionTool({ name, output }: AgentDefinition): Tool {
  if (output === undefined) return TEXT_TOOL
  return make(name, output)
}

function make(name: string, output: Schema): Tool {
  const plain = toJsonSchema(output).type !== 'object'
  const parameters = plain ? resultOf(output) : output
  return defineTool({
    name: COMPLETE_TASK,
    description: 'Hands in your result and ends your work. Call it once, when you are done.',
    parameters,
    kind: 'think',
    effect: 'idempotent',
    invoke(args: unknown, ctx) {
      const value = plain ? (args as { result: unknown }).result : args
      const broken = notJson(value)
      if (broken !== undefined) {
        const where = `agent ${name}: the output schema turns the result into something that is not plain JSON at ${broken || 'its root'}`
        throw new KernelError('SCHEMA_INVALID', `${where}; use a schema without such transforms`)
      }
      if (isBlank(value)) {
        throw new KernelError(
          'VALIDATION_FAILED',
          `${COMPLETE_TASK}: the result is blank; call it again with your result`,
        )
      }
      const budget = ctx.get(BUDGET)
      if (budget?.completed) {
        throw new KernelError('TOOL_FAILED', `${COMPLETE_TASK}: a result was already submitted; only the first counts`)
      }
      budget?.accept()
      return { content: textOfOutput(value as Json), data: { output: value as Json } }
    },
  }) as Tool
}

/** Returns whether a value has nothing but whitespace and invisible characters, in all of its fields. */
function isBlank(value: unknown): boolean {
  if (typeof value === 'string') return /^[\s\p{Cf}]*$/u.test(value)
  if (typeof value !== 'object' || value === null) return false
  const values = Object.values(value)
  return values.length > 0 && values.every(isBlank)
}

/** Wraps a schema that does not describe an object in `{ result }`. */
function resultOf(schema: Schema): Schema {
  const { $defs, ...result } = toJsonSchema(schema)
  const outer: JsonSchema = {
    type: 'object',
    properties: { result },
    required: ['result'],
    ...($defs !== undefined && { $defs }),
  }
  if (!('~standard' in schema)) return outer
  const { '~standard': standard } = schema as StandardSchema
  const wrapped: StandardSchema<{ result: unknown }> = {
    '~standard': {
      version: 1,
      vendor: standard.vendor,
      async validate(value) {
        const checked = await standard.validate((value as { result?: unknown } | null)?.result)
        if (!checked.issues) return { value: { result: checked.value } }
        return { issues: checked.issues.map(({ message, path = [] }) => ({ message, path: ['result', ...path] })) }
      },
      jsonSchema: { input: () => ({ ...outer }) },
    },
  }
  return wrapped
}

/** The tool of every agent without an output schema. */
const TEXT_TOOL: Tool = make('', TEXT)
