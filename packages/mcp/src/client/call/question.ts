import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client'
import { type InterruptRequest, type Json, type JsonObject, type JsonSchema, KernelError } from '@troupe/kernel'

const MAX_MESSAGE = 2000

/** The question of a server as a question of the run. Contract: equal for equal questions, so that an answer finds it again; throws for a page that is not of the web, because an app shows it as a link. */
export function questionOf(server: string, params: ElicitRequestParams): InterruptRequest {
  const message = params.message.slice(0, MAX_MESSAGE)
  if (params.mode === 'url') {
    checkPage(server, params.url)
    return { reason: 'input', message, metadata: { mcpServer: server, url: params.url } }
  }
  return {
    reason: 'input',
    message,
    responseSchema: params.requestedSchema as JsonSchema,
    metadata: { mcpServer: server },
  }
}

function checkPage(server: string, url: string): void {
  if (URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol)) return
  const message = `mcp server ${server}: asked a person to open ${JSON.stringify(url.slice(0, 100))}, which is not a page of the web`
  throw new KernelError('MCP_CALL_FAILED', message, { details: { server } })
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
