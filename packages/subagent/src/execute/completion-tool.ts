import {
  defineTool,
  type Json,
  type JsonSchema,
  KernelError,
  notJson,
  type Schema,
  type StandardSchema,
  type Tool,
  toJsonSchema,
} from '@troupe/kernel'
import { type AgentDefinition, COMPLETE_TASK } from '../define/define-agent.ts'
import { LEDGER } from './ledger.ts'

const TEXT: JsonSchema = {
  type: 'string',
  description: 'Your result, complete: nobody sees anything else of your work.',
}

/** What an agent is told about its end, after its prompt. */
export const COMPLETION_INSTRUCTION: string = `You work alone: nobody answers questions and nobody sees your messages. When you are done, call \`${COMPLETE_TASK}\` with your result; this is the only way to hand it in. If you cannot reach the goal, call it all the same and say how far you came.`

/**
 * The tool with which an agent hands in its result.
 * Contract: its arguments are the output schema, or `{ result }` where that is no object; what does not fit goes back to the model under the same call id; the first result counts.
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
        const where = `agent ${name}: its output schema makes no plain JSON of the result at ${broken || 'its root'}`
        throw new KernelError('SCHEMA_INVALID', `${where}; use one without such transforms`)
      }
      if (isBlank(value)) {
        throw new KernelError('VALIDATION_FAILED', `${COMPLETE_TASK}: the result is blank; say what you came to`)
      }
      const ledger = ctx.get(LEDGER)
      if (ledger?.completed) {
        throw new KernelError('TOOL_FAILED', `${COMPLETE_TASK}: a result was handed in already; only the first counts`)
      }
      if (ledger) ledger.completed = true
      return { content: textOfOutput(value as Json), data: { output: value as Json } }
    },
  }) as Tool
}

/** An output as text. */
export function textOfOutput(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

/** Nothing but whitespace and characters that nobody sees, be it in each of several fields. */
function isBlank(value: unknown): boolean {
  if (typeof value === 'string') return /^[\s\p{Cf}]*$/u.test(value)
  if (typeof value !== 'object' || value === null) return false
  const values = Object.values(value)
  return values.length > 0 && values.every(isBlank)
}

/** `{ result }` around a schema that is none of an object. */
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

/** That of every agent without an output schema. */
const TEXT_TOOL: Tool = make('', TEXT)
