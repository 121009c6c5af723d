import { isDeepStrictEqual } from 'node:util'
import { type AgentEvent, type Message, type Store, textOf } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import type { StepLine } from '../conversation/line-file.ts'
import { REF } from '../worker/worker-task.ts'
import type { Findings } from './findings.ts'
import { Reader } from './reader.ts'

type StoredMessage = Awaited<ReturnType<Store['threads']['messages']>>[number]

/** What a conversation has left behind. */
export interface LeftBehind {
  readonly events: readonly AgentEvent[]
  readonly steps: readonly StepLine[]
  /** The processes that were stopped for longer than their lease: they do not know at once that others went on. */
  readonly stopped: ReadonlySet<number>
  readonly messages: readonly StoredMessage[]
  readonly state: { readonly [key: string]: unknown }
}

/** Checks that a conversation is free to go on, and gives what it left behind. */
export async function checkFree(
  findings: Findings,
  store: Store,
  known: Pick<LeftBehind, 'events' | 'steps' | 'stopped'>,
): Promise<LeftBehind> {
  const thread = await store.threads.get(REF)
  findings.check('nothing is left to continue', thread?.unfinished === undefined, thread?.unfinished)
  findings.check('the journal is gone', (await store.journal.read(REF)) === undefined)
  findings.check('no run is lost', (await store.journal.lost({ before: Date.now() + 60_000, limit: 10 })).length === 0)
  findings.check('the thread is free', thread?.runId === undefined, thread?.runId)
  findings.check('nothing is open', !thread?.checkpoint && thread?.openCalls.length === 0, thread?.openCalls)
  return { ...known, messages: await store.threads.messages(REF, { limit: 1_000 }), state: thread?.state ?? {} }
}

/** Checks what readers saw, what was stored and what was done, against each other. */
export function checkConversation(findings: Findings, left: LeftBehind): Reader {
  const { events, messages, state } = left
  checkSteps(findings, left)
  const history = messages.map(({ message }) => message)
  checkHistory(findings, history)
  const reader = new Reader(findings, events)
  checkSeen(findings, reader, messages)
  const runs = new Set(messages.map(({ runId }) => runId))
  const all = [...runs].every((runId) => reader.sawEnd(runId))
  if (!all) return reader
  findings.check('every agent that began has ended', reader.openAgents.length === 0, reader.openAgents)
  findings.check('readers know the state', isDeepStrictEqual(reader.state, { ...state }), [reader.state, state])
  return reader
}

/** Checks that a step that is stored is not done again, and that what must happen once happens once at most. */
function checkSteps(findings: Findings, { steps, stopped }: LeftBehind): void {
  const stored = new Set<string>()
  const once: string[] = []
  for (const { what, step, pid, once: isOnce } of steps) {
    if (what === 'stored') {
      findings.check(`${step} is stored once`, !stored.has(step))
      stored.add(step)
      continue
    }
    findings.check(`${step} is not done again after it was stored`, !stored.has(step) || stopped.has(pid), pid)
    if (isOnce) once.push(step)
  }
  findings.unique('what must happen once happens once at most', once)
}

function checkHistory(findings: Findings, history: readonly Message[]): void {
  const asked = history.filter(({ role }) => role === 'user')
  findings.check('the message of the user is stored once', asked.length === 1 && history[0] === asked[0], asked)
  findings.unique(
    'every message is stored once',
    history.map(({ id }) => id),
  )
  const calls = history.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  const results = history.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  findings.unique('every call has one result at most', results)
  const open = calls.filter(({ id }) => !results.includes(id))
  findings.check('every call has a result', open.length === 0 && calls.length === results.length, open)
}

/** Checks that what was seen is what is stored, and of a run whose end was seen the other way round too. */
function checkSeen(findings: Findings, reader: Reader, messages: readonly StoredMessage[]): void {
  const stored = new Map(messages.map(({ message }) => [message.id, message]))
  for (const [id, { end }] of reader.messages) {
    if (!end || end.runId.includes('/')) continue
    const kept = end.dropped ? undefined : end.message
    findings.check(`what was seen of ${id} is stored, or was taken back`, isDeepStrictEqual(stored.get(id), kept), end)
  }
  for (const { message, runId } of messages) {
    if (reader.sawEnd(runId)) checkWasSeen(findings, reader, message)
  }
}

function checkWasSeen(findings: Findings, reader: Reader, message: Message): void {
  const { id, role } = message
  if (role === 'assistant') findings.check(`${id} was seen`, reader.messages.get(id)?.end !== undefined, message)
  // What was delivered was not shown.
  if (role !== 'tool' || id.endsWith('/result')) return
  const [end] = reader.calls.get(message.callId)?.ends ?? []
  const same = end?.messageId === id && textOf(end.content) === textOf(message.content)
  findings.check(`${id} was seen as it is stored`, same, [end, message])
}

/** How many calls have an unknown outcome. */
export function unknownCalls({ messages }: Pick<LeftBehind, 'messages'>): number {
  return messages.filter(({ message }) => message.content === UNKNOWN_RESULT).length
}
