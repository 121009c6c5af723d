import { isDeepStrictEqual } from 'node:util'
import { type Message, textOf } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { type Line, promisedIn } from '../conversation/case-event.ts'
import type { Effect } from '../conversation/effects.ts'
import type { Findings } from './findings.ts'
import { awaitedIn, type Snapshot } from './snapshot.ts'

/** Nothing that was acknowledged is lost, doubled, changed or out of order; a stored run is stored whole. */
export function checkPromises(findings: Findings, { messages }: Snapshot, lines: readonly Line[]): void {
  findings.gapless('messages are numbered without a gap', numbersOf(messages))
  findings.unique('a message is stored once', idsOf(messages))
  const places = new Map(messages.map((stored, i) => [stored.message.id, { ...stored, i }]))
  let last = -1
  // What was shown with a question is shown again with the end of its run.
  const whole = new Map(promisedIn(lines).map((promise) => [promise.runId, promise]))
  for (const { runId, messages: promised } of whole.values()) {
    for (const message of promised) {
      const found = places.get(message.id)
      findings.check(`${runId}: an acknowledged message is there`, found?.runId === runId, message)
      findings.check(`${runId}: it is the same as was shown`, holds(found?.message, message), found?.message)
    }
    // Results are told as they come, and stored in the order of their calls.
    const order = promised.flatMap(({ role, id }) => (role === 'tool' ? [] : [places.get(id)?.i ?? -1]))
    findings.check(`${runId}: what was acknowledged is in order`, isAscending(order), order)
    findings.check(
      `${runId}: it stands behind what came before`,
      order.every((i) => i >= last),
      order,
    )
    last = Math.max(last, ...order)
  }
  const stored = new Set(messages.map(({ runId }) => runId))
  for (const line of lines) {
    if (line.type !== 'said' || !stored.has(line.runId)) continue
    findings.check(`${line.runId}: a stored run is stored whole`, places.has(line.message.id), line.message.id)
  }
}

/** Every call has one result, unless it waits for somebody. */
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

/** The records agree with the thread, and nothing in them is left open. Contract: for a thread that was reconciled. */
export function checkRecords(findings: Findings, shot: Snapshot): void {
  const { runs, calls, messages } = shot
  findings.gapless('runs are numbered without a gap', numbersOf(runs))
  findings.unique(
    'a run is recorded once',
    runs.map(({ runId }) => runId),
  )
  findings.unique(
    'a call is recorded once',
    calls.map(({ callId }) => callId),
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

/** Every run that has ended has its record, which says how. Contract: for callers whose process lives and whose records are flushed. */
export function checkEndings(findings: Findings, { runs }: Snapshot, lines: readonly Line[]): void {
  const statuses = new Map(runs.map(({ runId, status }) => [runId, status]))
  for (const line of lines) {
    if (line.type !== 'ended') continue
    const { runId, outcome } = line
    findings.check(`${runId}: its record says how it ended`, statuses.get(runId) === outcome, statuses.get(runId))
  }
}

/** What may be done once was done once at most, and what is said to be done was done. */
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

/** The logs tell the same as the thread, with the same ids. */
export function checkLogs(findings: Findings, { logs, messages }: Snapshot, lines: readonly Line[]): void {
  const stored = new Map(messages.map(({ message }) => [message.id, message]))
  const kept = new Set(promisedIn(lines).map(({ runId }) => runId))
  for (const [runId, events] of logs) {
    findings.gapless(`${runId}: its log has no gap`, numbersOf(events))
    const types = events.map(({ event }) => (event as { readonly type: string }).type)
    const end = types.indexOf('run-end')
    findings.check(`${runId}: nothing is logged behind the end`, end === -1 || end === types.length - 1, types)
    for (const { event } of kept.has(runId) ? events : []) {
      const { type, message } = event as { readonly type: string; readonly message?: Message }
      if (type !== 'message-end' || !message) continue
      findings.check(`${runId}: what is logged is stored`, holds(stored.get(message.id), message), message)
    }
  }
}

/** How many calls of a thread have a result that says nothing is known. */
export function unknownIn({ messages, calls }: Snapshot): number {
  const marked = new Set(calls.filter(({ status }) => status === 'unknown').map(({ callId }) => callId))
  for (const { callId, content } of resultsIn(messages).values()) if (content === UNKNOWN_RESULT) marked.add(callId)
  return marked.size
}

type Result = Extract<Message, { readonly role: 'tool' }>

function resultsIn(messages: Snapshot['messages']): ReadonlyMap<string, Result> {
  return new Map(messages.flatMap(({ message }) => (message.role === 'tool' ? [[message.callId, message]] : [])))
}

/** Whether what is stored has all that was shown; it may say more, such as who said it. */
function holds(stored: Message | undefined, shown: Message): boolean {
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
