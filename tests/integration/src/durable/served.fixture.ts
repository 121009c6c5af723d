import { EventType } from '@ag-ui/core'
import {
  type AgUiEvent,
  type AgUiHandler,
  type AgUiHandlerOptions,
  agUiHandler,
  type MessageOptions,
  readRunLog,
  toAgUiMessages,
} from '@troupe/ag-ui'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { strictVerifier } from '@troupe/ag-ui/verify'
import type { KernelError, Store } from '@troupe/kernel'
import { expect } from 'vitest'
import { ANN, type Process, type World } from './killable.fixture.ts'

const { app, user } = ANN

/** The server of a process. */
export function serve(
  { runner, store }: Process,
  { clock }: World,
  options: Partial<AgUiHandlerOptions> = {},
): AgUiHandler & { readonly reported: KernelError[] } {
  const reported: KernelError[] = []
  const handler = agUiHandler({
    runner,
    store,
    clock,
    owner: { app, user },
    report: (error) => void reported.push(error),
    ...options,
  })
  return Object.assign(handler, { reported })
}

/** The official client of a server, without a network. */
export function clientOf(
  handler: AgUiHandler,
  seen: AgUiEvent[] = [],
  threadId: string = ANN.threadId,
): ResumableHttpAgent {
  const agent = new ResumableHttpAgent({
    url: 'http://localhost',
    threadId,
    fetch: (url, init) => handler(new Request(url, init)),
    reconnect: { attempts: 1, pauseMs: () => 0 },
  })
  agent.subscribe({ onEvent: ({ event }) => void seen.push(event as AgUiEvent) })
  return agent
}

/** Waits for something while time passes. */
export async function meanwhile<T>({ clock }: World, work: Promise<T>, stepMs = 100): Promise<T> {
  let done = false
  const settle = () => {
    done = true
  }
  work.then(settle, settle)
  while (!done) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(stepMs)
  }
  return work
}

/** Follows a run to its end. */
export async function followed(handler: AgUiHandler, here: World, after = 0): Promise<AgUiEvent[]> {
  const url = `http://localhost/threads/${ANN.threadId}/runs/R?protocolVersion=1.0&after=${after}`
  const response = await handler(new Request(url))
  const body = await meanwhile(here, response.text())
  return [...body.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as AgUiEvent)
}

/** The log of a run so far. */
export async function logOf(store: Store, runId = 'R'): Promise<AgUiEvent[]> {
  const events: AgUiEvent[] = []
  const { signal } = new AbortController()
  for await (const batch of readRunLog(store.runLog, ANN, runId, { live: false, signal })) {
    for (const { event } of batch) events.push(event)
  }
  return events
}

/** Checks a whole log: it is a correct stream, and nothing in it is there twice. */
export function checkLog(events: readonly AgUiEvent[]): void {
  const [started] = events
  const messages = started?.type === EventType.RUN_STARTED ? started.input?.messages : []
  const verifier = strictVerifier({ messages: messages ?? [] })
  for (const event of events) verifier.see(event)
  verifier.end()
  const once = events.flatMap(nameOf)
  expect(once).toEqual([...new Set(once)])
}

function nameOf(event: AgUiEvent): string[] {
  switch (event.type) {
    case EventType.TEXT_MESSAGE_START:
    case EventType.TEXT_MESSAGE_END:
      return [`${event.type} ${event.messageId}`]
    case EventType.TOOL_CALL_START:
    case EventType.TOOL_CALL_END:
    case EventType.TOOL_CALL_RESULT:
      return [`${event.type} ${event.toolCallId}`]
    case EventType.SUBAGENT_STARTED:
    case EventType.SUBAGENT_FINISHED:
      return [`${event.type} ${event.subagentRunId}`]
    case EventType.RUN_STARTED:
    case EventType.RUN_FINISHED:
    case EventType.RUN_ERROR:
      return [event.type]
    default:
      return []
  }
}

/** The stored messages as a client keeps them. */
export async function storedMessages(
  { messages }: World,
  view: MessageOptions = {},
): Promise<ReturnType<typeof toAgUiMessages>> {
  return toAgUiMessages(await messages(), view)
}
