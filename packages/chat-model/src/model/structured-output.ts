import {
  type Json,
  type JsonSchema,
  type JsonSchemaValidator,
  KernelError,
  type Schema,
  toJsonSchema,
  validate,
} from '@troupe/kernel'

/** What a final answer is worth: a value, or what is wrong with it in words for the model. */
export type Verdict = { readonly value: Json } | { readonly complaint: string }

/** The structured output of an agent. */
export interface StructuredOutput {
  readonly schema: JsonSchema
  /** How often the model may correct itself. */
  readonly corrections: number
  judge(text: string): Promise<Verdict>
}

/** Makes the judge of a schema. */
export function structuredOutput(
  schema: Schema,
  corrections: number,
  validator: JsonSchemaValidator,
): StructuredOutput {
  return {
    schema: toJsonSchema(schema),
    corrections,
    async judge(text) {
      try {
        return { value: (await validate(schema, JSON.parse(unfenced(text)), validator)) as Json }
      } catch (error) {
        return { complaint: `The answer does not fit its schema: ${KernelError.from(error).message}` }
      }
    },
  }
}

/** Models like to put JSON into a code block. */
function unfenced(text: string): string {
  return /^\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*$/s.exec(text)?.[1] ?? text
}
