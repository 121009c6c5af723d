import type { SessionManager } from '@troupe/ag-ui'
import { type AgentDescription, describe } from '@troupe/flow'
import { type Agent, type ChatModel, KernelError, type Owner, type Store } from '@troupe/kernel'
import type { MessageLifecycle } from '@troupe/persistence'
import type { AgentRegistry } from '@troupe/subagent'
import type { Config } from '../config.ts'
import { boundedBody } from './bounded-body.ts'
import { historyText } from './history.ts'
import { readPageState } from './page-state.ts'
import { tokensByMessage } from './tokens.ts'

/** The parts of the app that the routes of the page need. */
interface ApiParts {
  readonly config: Config
  readonly model: ChatModel
  readonly agent: Agent
  readonly subagents: AgentRegistry
  readonly store: Store
  readonly messages: MessageLifecycle
  readonly sessions: SessionManager
  readonly owner: Owner
}

/** The routes of the page beside those of AG-UI: the agents, the history of a conversation, tokens, the state between runs, and what is always allowed. */
export type Api = (request: Request) => Promise<Response>

const MAX_STATE = 100_000
/** Visible characters, without those that control a terminal or a log. */
const THREAD_ID = /^[^\p{Cc}]{1,256}$/u

/** Makes the routes. Contract: errors become JSON with a code and a message. */
export function api(parts: ApiParts): Api {
  return async (request) => {
    try {
      return await route(parts, request)
    } catch (error) {
      const { code, message } = KernelError.from(error)
      const status = STATUS[code] ?? 500
      if (status < 500) return Response.json({ code, message }, { status })
      const headers: Record<string, string> = status === 503 ? { 'retry-after': '1' } : {}
      const said = status === 503 ? 'The store cannot be used now. Try again.' : 'Internal error.'
      return Response.json({ code, message: said }, { status, headers })
    }
  }
}

const STATUS: Record<string, number> = {
  THREAD_BUSY: 409,
  NOT_FOUND: 404,
  VALIDATION_FAILED: 400,
  BODY_TOO_LARGE: 413,
  RECORDS_PENDING: 503,
  STORE_BUSY: 503,
  STORE_FULL: 503,
  STORE_READ_ONLY: 503,
  STORE_UNAVAILABLE: 503,
}

async function route(parts: ApiParts, request: Request): Promise<Response> {
  const { store, owner, messages, sessions } = parts
  const { pathname } = new URL(request.url)
  const [name, id, what, ...more] = partsOf(pathname)
  if (more.length > 0) throw new KernelError('NOT_FOUND', 'api: no such route')
  const ref = { ...owner, threadId: id ?? '' }
  switch ([request.method, name, id === undefined ? '' : ':id', what ?? ''].join(' ').trimEnd()) {
    case 'GET about':
      return Response.json(about(parts))
    case 'GET threads :id history': {
      const thread = await store.threads.get(ref)
      if (!thread) return Response.json({ runs: [] })
      await messages.flush(ref)
      // A run whose process is gone is joined like one that is active.
      return jsonOf(historyText(store, ref, thread.runId ?? thread.unfinished))
    }
    case 'GET threads :id tokens':
      await messages.flush(ref)
      return Response.json(await tokensByMessage(store, ref))
    case 'PUT threads :id state':
      return Response.json(await sessions.updateSessionState(ref, readPageState(await boundedBody(request, MAX_STATE))))
    case 'GET grants':
      return Response.json(await store.grants.list(owner))
    case 'DELETE grants :id':
      if (!(await store.grants.revoke(owner, ref.threadId))) throw new KernelError('NOT_FOUND', 'api: no such grant')
      return new Response(null, { status: 204 })
    default:
      throw new KernelError('NOT_FOUND', 'api: no such route')
  }
}

/** A response of JSON that is made while it is read. */
async function jsonOf(pieces: AsyncGenerator<string, void>): Promise<Response> {
  // What cannot be read at all is an error of the request, not of its body.
  let first: IteratorResult<string, void> | undefined = await pieces.next()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = first ?? (await pieces.next())
        first = undefined
        if (done) controller.close()
        else controller.enqueue(new TextEncoder().encode(value))
      },
      cancel: async () => void (await pieces.return()),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { 'content-type': 'application/json' } })
}

/** Reads the parts of a path after `/api`. Contract: throws `VALIDATION_FAILED` for an invalid thread id. */
function partsOf(pathname: string): readonly string[] {
  const parts = pathname.split('/').slice(2).map(decodeURIComponent)
  if (parts.slice(1).every((part) => THREAD_ID.test(part))) return parts
  throw new KernelError(
    'VALIDATION_FAILED',
    'path: expected /api/threads/<id>/<what>, with an id of 1 to 256 characters',
  )
}

function about({ config, model, agent, subagents }: ApiParts) {
  const tree: AgentDescription = describe(agent)
  const tools = subagents.getAllDefinitions().map(({ name, description }) => ({ name, description }))
  const { vendor, database, traceUrl } = config
  return { model: model.name, demo: vendor === undefined, store: database.type, tree, tools, traceUrl }
}
