import { isDeepStrictEqual } from 'node:util'
import { type AgentEvent, type Json, type Message, textOf } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { acknowledgedIn, type CaseEvent } from '../conversation/case-event.ts'
import type { Effect } from '../conversation/effects.ts'
import type { Findings } from './findings.ts'
import { awaitedIn, type Snapshot } from './snapshot.ts'

/** Checks that nothing that was acknowledged is lost, doubled, changed or out of order; a stored run is stored completely. */
export function checkAcknowledged(
  findings: Findings,
  { messages, thread }: Snapshot,
  events: readonly CaseEvent[],
): void {
  findings.gapless('messages are numbered without a gap', numbersOf(messages))
  findings.unique('a message is stored once', idsOf(messages))
  const positions = new Map(messages.map((stored, i) => [stored.message.id, { ...stored, i }]))
  let last = -1
  // The end of a run repeats the messages that were shown with its question.
  const byRun = new Map(acknowledgedIn(events).map((event) => [event.runId, event]))
  for (const { runId, messages: acknowledged } of byRun.values()) {
    for (const message of acknowledged) {
      const found = positions.get(message.id)
      findings.check(`${runId}: an acknowledged message is there`, found?.runId === runId, message)
      findings.check(`${runId}: it is the same as was shown`, contains(found?.message, message), found?.message)
    }
    // Results are shown as they arrive, and stored in the order of their calls.
    const order = acknowledged.flatMap(({ role, id }) => (role === 'tool' ? [] : [positions.get(id)?.i ?? -1]))
    findings.check(`${runId}: what was acknowledged is in order`, isAscending(order), order)
    findings.check(
      `${runId}: it comes after earlier runs`,
      order.every((i) => i >= last),
      order,
    )
    last = Math.max(last, ...order)
  }
  const stored = new Set(messages.map(({ runId }) => runId))
  const begins = new Set(events.flatMap((event) => (event.type === 'began' && event.gives ? [event.runId] : [])))
  for (const event of events) {
    if (event.type !== 'said') continue
    const { runId, message } = event
    findings.check(`${runId}: what a run began with is stored`, stored.has(runId) || !begins.has(runId), message)
    // What a run has said that broke off and can be continued is in its journal.
    if (!stored.has(runId) || thread?.unfinished === runId) continue
    // An answer that was cut off is stored with the failure of its run, if the store takes it.
    if (isCutOff(message)) continue
    findings.check(`${runId}: a stored run is stored completely`, positions.has(message.id), message.id)
  }
}

/** Checks that every call has one result, unless it waits for a person or a delivery. */
export function checkCalls(findings: Findings, shot: Snapshot): void {
  const awaited = awaitedIn(shot)
  const results = new Map<string, number>()
  const calls: string[] = []
  for (const { message } of shot.messages) {
    if (message.role === 'tool') results.set(message.callId, (results.get(message.callId) ?? 0) + 1)
    if (message.role === 'assistant') calls.push(...(message.toolCalls ?? []).map(({ id }) => id))
  }
  findings.unique('a call is made once', calls)
  for (const callId of calls) {
    const wanted = awaited.has(callId) ? 0 : 1
    findings.check(`call ${callId} has ${wanted} results`, (results.get(callId) ?? 0) === wanted, results.get(callId))
    results.delete(callId)
  }
  findings.check('no result is without its call', results.size === 0, [...results.keys()])
}

/** Checks that the records agree with the thread and that none is left open. Contract: for a thread that was reconciled. */
export function checkRecords(findings: Findings, shot: Snapshot): void {
  const { thread, messages } = shot
  // A run that broke off keeps its records open until it is continued or settled.
  const isOpen = (runId: string) => isWithin(runId, thread?.unfinished)
  const runs = shot.runs.filter(({ runId, status }) => status !== 'generating' || !isOpen(runId))
  const calls = shot.calls.filter(({ runId, status }) => status !== 'running' || !isOpen(runId))
  findings.gapless('runs are numbered without a gap', numbersOf(shot.runs))
  findings.unique(
    'a run is recorded once',
    shot.runs.map(({ runId }) => runId),
  )
  findings.unique(
    'a call is recorded once',
    shot.calls.map(({ callId }) => callId),
  )
  const byRun = Map.groupBy(messages, ({ runId }) => runId)
  for (const { runId, status, text, parentRunId } of runs) {
    findings.check(`${runId}: its record is closed`, status !== 'generating', status)
    if (status !== 'complete' || parentRunId !== undefined) continue
    const said = byRun.get(runId)?.findLast(({ message }) => message.role === 'assistant')?.message
    findings.check(
      `${runId}: a complete run is in the thread with its text`,
      text === textOf(said?.content ?? '\0'),
      text,
    )
  }
  const awaited = awaitedIn(shot)
  const results = resultsIn(messages)
  for (const { callId, status, result } of calls) {
    const open = status === 'running' || ((status === 'awaiting' || status === 'interrupted') && !awaited.has(callId))
    findings.check(`call ${callId}: its record is settled, or it waits`, !open, status)
    const stored = results.get(callId)
    if (status !== 'complete' || !stored || stored.content === UNKNOWN_RESULT) continue
    const { content } = result as { readonly content?: unknown }
    findings.check(`call ${callId}: its record has the result of the thread`, content === stored.content, result)
  }
}

/** Checks that every run that has ended has a record with its outcome. Contract: for callers whose process lives and whose records are flushed. */
export function checkOutcomes(findings: Findings, { runs }: Snapshot, events: readonly CaseEvent[]): void {
  const statuses = new Map(runs.map(({ runId, status }) => [runId, status]))
  for (const event of events) {
    if (event.type !== 'ended') continue
    const { runId, outcome } = event
    const record = statuses.get(runId)
    findings.check(`${runId}: its record says how it ended`, record === outcome, {
      record,
      ended: event,
      error: runs.find((run) => run.runId === runId)?.error,
    })
  }
}

/** Checks that effects happened once at most, and that every payment with a result happened. */
export function checkEffects(findings: Findings, shot: Snapshot, effects: readonly Effect[]): void {
  findings.unique(
    'nothing was done twice',
    effects.map(({ key }) => key),
  )
  const done = new Set(effects.map(({ callId }) => callId))
  for (const { callId, content, name } of resultsIn(shot.messages).values()) {
    if (!String(content).startsWith('paid')) continue
    findings.check(`call ${callId}: ${name} was done`, done.has(callId))
  }
}

/** Checks that the run logs have the messages of the thread, with the same ids. */
export function checkLogs(findings: Findings, { logs, messages }: Snapshot, events: readonly CaseEvent[]): void {
  const stored = new Map(messages.map(({ message }) => [message.id, message]))
  const kept = new Set(acknowledgedIn(events).map(({ runId }) => runId))
  for (const [runId, logged] of logs) {
    findings.gapless(`${runId}: its log has no gap`, numbersOf(logged))
    const types = logged.map(({ event }) => (event as { readonly type: string }).type)
    const end = types.indexOf('run-end')
    for (const type of ONCE) {
      findings.unique(`${runId}: ${type} is logged once`, idsIn(logged, type))
    }
    findings.check(`${runId}: nothing is logged after the end`, end === -1 || end === types.length - 1, types)
    for (const { event } of kept.has(runId) ? logged : []) {
      const { type, message } = event as { readonly type: string; readonly message?: Message }
      if (type !== 'message-end' || !message || isCutOff(message)) continue
      findings.check(`${runId}: what is logged is stored`, contains(stored.get(message.id), message), message)
    }
  }
}

/** Counts the calls of a thread that are marked as unknown. */
export function unknownIn({ messages, calls }: Snapshot): number {
  const marked = new Set(calls.filter(({ status }) => status === 'unknown').map(({ callId }) => callId))
  for (const { callId, content } of resultsIn(messages).values()) if (content === UNKNOWN_RESULT) marked.add(callId)
  return marked.size
}

type Result = Extract<Message, { readonly role: 'tool' }>

function resultsIn(messages: Snapshot['messages']): ReadonlyMap<string, Result> {
  return new Map(messages.flatMap(({ message }) => (message.role === 'tool' ? [[message.callId, message]] : [])))
}

/** Whether a message is an answer that was cut off, or the result with which a process ended a call because it had lost its lease. */
function isCutOff(message: Message): boolean {
  return message.role === 'assistant'
    ? message.partial === true
    : 'error' in message && message.error?.code === 'LEASE_LOST'
}

/** Whether a stored message has every field that was shown; it may have more, such as the agent's name. */
function contains(stored: Message | undefined, shown: Message): boolean {
  return stored !== undefined && isDeepStrictEqual({ ...stored, ...shown }, stored)
}

function isAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, i) => number > (i === 0 ? -1 : (numbers[i - 1] as number)))
}

function numbersOf(rows: readonly { readonly seq: number }[]): readonly number[] {
  return rows.map(({ seq }) => seq)
}

function idsOf(messages: Snapshot['messages']): readonly string[] {
  return messages.map(({ message }) => message.id)
}

/** The events that readers see once, whatever happens to the process; each has an id of its own. */
const ONCE = ['run-start', 'run-end', 'message-start', 'message-end', 'tool-start', 'tool-end'] as const

function idsIn(logged: readonly { readonly event: Json }[], wanted: (typeof ONCE)[number]): readonly string[] {
  return logged.flatMap(({ event }) => {
    const shown = event as AgentEvent
    if (shown.type !== wanted) return []
    if (shown.type === 'message-end') return [shown.message.id]
    return 'callId' in shown ? [shown.callId] : 'messageId' in shown ? [shown.messageId] : [shown.runId]
  })
}

/** Whether a run is this one, or is nested in it. */
function isWithin(runId: string, outer: string | undefined): boolean {
  return outer !== undefined && (runId === outer || runId.startsWith(`${outer}/`))
}
