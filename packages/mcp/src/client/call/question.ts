import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client'
import type { InterruptRequest, Json, JsonObject, JsonSchema } from '@troupe/kernel'

const MAX_MESSAGE = 2000

/** The question of a server as a question of the run. Contract: equal for equal questions, so that an answer finds it again. */
export function questionOf(server: string, params: ElicitRequestParams): InterruptRequest {
  const message = params.message.slice(0, MAX_MESSAGE)
  if (params.mode === 'url') return { reason: 'input', message, metadata: { mcpServer: server, url: params.url } }
  return {
    reason: 'input',
    message,
    responseSchema: params.requestedSchema as JsonSchema,
    metadata: { mcpServer: server },
  }
}

/** The answer for the server; a question that was closed is cancelled. */
export function resultOf(params: ElicitRequestParams, answer: Json): ElicitResult {
  if (answer === null) return { action: 'cancel' }
  if (params.mode === 'url') return { action: 'accept' }
  const content = { ...defaultsOf(params.requestedSchema as JsonObject), ...(answer as JsonObject) }
  return { action: 'accept', content: content as NonNullable<ElicitResult['content']> }
}

/** The values of the fields that a person may leave out. */
function defaultsOf({ properties }: JsonObject): JsonObject {
  const fields = Object.entries((properties ?? {}) as { readonly [name: string]: JsonObject })
  return Object.fromEntries(
    fields.flatMap(([name, field]) => (field.default === undefined ? [] : [[name, field.default]])),
  )
}
