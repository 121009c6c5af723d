import { type Json, type JsonSchema, KernelError, type Schema } from '@troupe/kernel'
import { type JsonSchemaValidator, toJsonSchema, validate } from '@troupe/kernel/kit'

/** A final answer after validation: its value, or its problem in words for the model. */
export type OutputCheck = { readonly value: Json } | { readonly problem: string }

/** The structured output of an agent. */
export interface StructuredOutput {
  readonly schema: JsonSchema
  /** How often the model may correct itself. */
  readonly corrections: number
  check(text: string): Promise<OutputCheck>
}

/** Compiles the schema of a final answer. */
export function structuredOutput(
  schema: Schema,
  corrections: number,
  validator: JsonSchemaValidator,
): StructuredOutput {
  return {
    schema: toJsonSchema(schema),
    corrections,
    async check(text) {
      try {
        return { value: (await validate(schema, JSON.parse(unfenced(text)), validator)) as Json }
      } catch (error) {
        return { problem: `The answer does not fit its schema: ${KernelError.from(error).message}` }
      }
    },
  }
}

/** Removes the code block that models often put around JSON. Contract: takes linear time, because the text comes from a model. */
function unfenced(text: string): string {
  const block = text.trim()
  const firstLineEnd = block.indexOf('\n')
  const isBlock = firstLineEnd !== -1 && firstLineEnd <= block.length - FENCE.length && block.endsWith(FENCE)
  if (!isBlock || !OPENINGS.has(block.slice(0, firstLineEnd).trimEnd())) return text
  return block.slice(firstLineEnd + 1, -FENCE.length)
}

const FENCE = '```'
const OPENINGS: ReadonlySet<string> = new Set([FENCE, `${FENCE}json`])
