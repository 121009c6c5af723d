import type { AgentCapabilities } from '@ag-ui/core'
import { KernelError, type Owner, type ThreadRef, type ThreadSummary } from '@troupe/kernel'
import { openInterrupts } from '../agent/answers-of.ts'
import type { BoundedRows } from '../bounded-pages.ts'
import { lostRunOf } from '../lost/lost-runs.ts'
import { runningIn } from '../session/thread-holds.ts'
import { viewOf } from '../translate/client-view.ts'
import { interruptOf } from '../translate/interrupt-of.ts'
import { ownName } from '../translate/own-name.ts'
import { connect } from './connect.ts'
import { encodingFor } from './encoding.ts'
import { messageRows } from './message-rows.ts'
import { acceptedBy } from './negotiate.ts'
import { readTitle } from './read-title.ts'
import { JSON_HEADERS, json, refuse } from './refuse.ts'
import type { Route } from './route.ts'
import { type HandlerParts, servePieces } from './serve-run.ts'
import { shownState } from './shown-state.ts'
import { findThread, threadOf, threadUnknown } from './thread-of.ts'
import { pageOf, threadPage } from './thread-pages.ts'

/** The options of the thread routes. */
interface ThreadRoutesOptions {
  readonly capabilities: AgentCapabilities
  /** State that clients do not see. */
  readonly hidden: (key: string) => boolean
  /** Contract: throws `THREAD_BUSY` while a run is active; false if there is no such thread. */
  readonly deleteThread: (ref: ThreadRef) => Promise<boolean>
}

/** The routes of threads (list, state, title, messages, connect, delete), and of the agent's capabilities. */
export function threadRoutes(parts: HandlerParts, options: ThreadRoutesOptions): readonly Route[] {
  const { agent, store, lostRuns, pageChars } = parts
  const { capabilities, hidden, deleteThread } = options
  const summaryOf = (thread: ThreadSummary) => {
    const lostRunId = lostRuns === 'leave' ? undefined : lostRunOf(thread)
    return { ...threadSummary(thread), ...(lostRunId !== undefined && { lostRunId }) }
  }
  return [
    { name: 'capabilities', method: 'GET', path: '/capabilities', handle: async () => json(200, capabilities) },
    {
      name: 'threads',
      method: 'GET',
      path: '/threads',
      async handle({ owner, query, requestId }) {
        const textOf = (thread: ThreadSummary) => JSON.stringify(summaryOf(thread))
        const found = await threadPage(store.threads, owner, query, textOf, pageChars)
        return serveRows(parts, owner, requestId, 'threads', found)
      },
    },
    {
      name: 'thread',
      method: 'GET',
      path: '/threads/:threadId',
      async handle(context) {
        const thread = await findThread(parts.store, context)
        // A page that asks whether its conversation has begun expects both.
        if (!thread && context.query.has('optional')) return new Response(null, { status: 204 })
        if (!thread) throw threadUnknown()
        const state = shownState(thread.state, hidden, pageChars)
        const { clientToolPrefix: prefix } = viewOf(agent, thread.ref)
        const text = JSON.stringify({
          ...summaryOf(thread),
          ...(state ? { state } : { stateOmitted: true }),
          pendingToolCalls: thread.openCalls.map(({ callId, name }) => ({
            toolCallId: callId,
            name: ownName(name, prefix),
          })),
          interrupts: openInterrupts(thread).map((question) => interruptOf(question, undefined, prefix)),
        })
        return serveText(parts, thread.ref, context.requestId, [text])
      },
    },
    {
      name: 'rename-thread',
      method: 'PATCH',
      path: '/threads/:threadId',
      async handle(context) {
        const { ref } = await threadOf(parts.store, context)
        if (!store.threads.label) throw new KernelError('METHOD_NOT_ALLOWED', 'thread: this store has no titles')
        const thread = await store.threads.label(ref, { title: await readTitle(context.request) })
        return json(200, summaryOf(thread))
      },
    },
    {
      name: 'messages',
      method: 'GET',
      path: '/threads/:threadId/messages',
      async handle(context) {
        const page = pageOf(context.query)
        const thread = await threadOf(parts.store, context)
        const found = await messageRows(parts, thread, page)
        return serveRows(parts, thread.ref, context.requestId, 'messages', found)
      },
    },
    {
      name: 'connect',
      method: 'GET',
      path: '/threads/:threadId/connect',
      async handle(context) {
        const type = acceptedBy(context.request)
        const thread = await threadOf(parts.store, context)
        const encoding = await encodingFor(type, parts.understood(context.query.get('protocolVersion')))
        return connect(parts, thread, hidden, encoding, context)
      },
    },
    {
      name: 'delete-thread',
      method: 'DELETE',
      path: '/threads/:threadId',
      async handle(context) {
        const thread = await threadOf(parts.store, context)
        const runId = runningIn(thread)
        try {
          if (!(await deleteThread(thread.ref))) throw threadUnknown()
        } catch (error) {
          if (!KernelError.is(error, 'THREAD_BUSY')) throw error
          const more = runId === undefined ? {} : { more: { holder: { runId } } }
          return refuse(
            { code: error.code, message: 'A run is active in this conversation.', ...more },
            context.requestId,
          )
        }
        return new Response(null, { status: 204 })
      },
    },
  ]
}

function threadSummary(thread: ThreadSummary) {
  const { ref, updatedAt, waiting, title } = thread
  const runId = runningIn(thread)
  return {
    threadId: ref.threadId,
    ...(title !== undefined && { title }),
    updatedAt,
    ...(runId !== undefined && { runId }),
    waiting,
  }
}

/** A page of rows as JSON; `next` is where the next page begins. */
function serveRows(
  parts: HandlerParts,
  owner: Owner,
  requestId: string,
  name: 'threads' | 'messages',
  { rows, next }: BoundedRows<string>,
): Response {
  function* pieces() {
    yield `{"${name}":[`
    let comma = ''
    for (const row of rows) {
      // A message that clients do not see is empty.
      if (row === '') continue
      yield comma + row
      comma = ','
    }
    yield next === undefined ? ']}' : `],"next":${JSON.stringify(next)}}`
  }
  return serveText(parts, owner, requestId, pieces())
}

/** JSON in pieces, sent at the pace of the reader. */
function serveText(parts: HandlerParts, owner: Owner, requestId: string, pieces: Iterable<string>): Response {
  async function* lead() {
    yield* pieces
  }
  return servePieces(parts, owner, lead(), NO_EVENTS, requestId, JSON_HEADERS)
}

const NO_EVENTS = { aside: () => '' }
