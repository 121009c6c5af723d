import type { JsonObject, JsonSchema } from '@troupe/kernel'

/** The schema of a client tool; one without a schema takes no arguments. */
export function parametersOf({ parameters }: { readonly parameters?: unknown }): JsonSchema {
  return { properties: {}, ...(parameters as JsonObject | undefined), type: 'object' }
}
