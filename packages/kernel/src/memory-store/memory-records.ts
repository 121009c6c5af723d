import { addUsage, NO_USAGE } from '../data/message.ts'
import { checkCommands, runIdOf } from '../store/check-commands.ts'
import { checkId } from '../store/check-id.ts'
import { checkMaintenance, checkPage } from '../store/check-page.ts'
import { checkRef } from '../store/check-ref.ts'
import { checkPrune } from '../store/check-run-log.ts'
import { commandEffect } from '../store/command-effect.ts'
import type { ModelCallRecord, RecordCommand, RecordStore, RunRecord, ToolCallRecord } from '../store/store.ts'
import { usageOf } from '../store/usage-of.ts'
import {
  allThreads,
  findThread,
  type MemoryData,
  type OwnerData,
  olderThan,
  pageOf,
  refuseClosed,
  type ThreadData,
  WHO,
} from './memory-data.ts'

/** Runs, tool calls and usage in memory. */
export function memoryRecords(data: MemoryData): Required<RecordStore> {
  return {
    async apply(ref, commands) {
      checkRef(WHO, ref)
      checkCommands(WHO, commands)
      const { owner, row } = findThread(data, ref)
      return commands.map((command) => {
        const runId = runIdOf(command)
        return row ? applyOne(owner, row, runId, command) : { runId, refused: true }
      })
    },

    async runs(ref, page) {
      checkRef(WHO, ref)
      const wanted = checkPage(WHO, page)
      return pageOf([...(findThread(data, ref).row?.runs.values() ?? [])], wanted)
    },

    async toolCalls(ref, runId) {
      checkRef(WHO, ref)
      checkId(WHO, 'runId', runId)
      return [...(findThread(data, ref).row?.calls.values() ?? [])].filter((call) => call.runId === runId)
    },

    async modelCalls(ref, runId) {
      checkRef(WHO, ref)
      checkId(WHO, 'runId', runId)
      return [...(findThread(data, ref).row?.modelCalls.values() ?? [])].filter((call) => call.runId === runId)
    },

    async usage(ref) {
      checkRef(WHO, ref)
      const calls = findThread(data, ref).row?.modelCalls.values() ?? []
      return [...calls].reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE)
    },

    async open(query) {
      checkMaintenance(WHO, query)
      refuseClosed(data)
      const runs = allThreads(data).flatMap(({ thread, runs }) =>
        [...runs.values()].map((run) => ({ ...run, ref: thread.ref })),
      )
      return olderThan(
        query,
        'startedAt',
        runs.filter(({ status }) => status === 'generating'),
      )
    },

    async prune(query) {
      checkPrune(WHO, query)
      refuseClosed(data)
      const { apps } = query
      const meant = allThreads(data).filter(({ thread }) => !apps || apps.includes(thread.ref.app))
      const pruned = olderThan(query, 'endedAt', meant.flatMap(prunable))
      for (const { row, runId } of pruned) remove(findThread(data, row.thread.ref).owner, row, runId)
      return pruned.length
    },
  }
}

const OPEN: readonly string[] = ['running', 'awaiting', 'interrupted'] satisfies ToolCallRecord['status'][]

/** The runs of a thread that have ended and whose calls have, too. */
function prunable(row: ThreadData) {
  if (row.journal) return []
  const open = new Set([...row.calls.values()].flatMap(({ runId, status }) => (OPEN.includes(status) ? runId : [])))
  return [...row.runs.values()].flatMap(({ runId, endedAt }) =>
    endedAt === undefined || open.has(runId) ? [] : { row, runId, endedAt },
  )
}

/** Deletes a run with its calls. */
function remove({ runIds }: OwnerData, { runs, attempts, calls, modelCalls }: ThreadData, id: string): void {
  runs.delete(id)
  runIds.delete(id)
  attempts.delete(id)
  for (const [callId, { runId }] of calls) if (runId === id) calls.delete(callId)
  for (const [spanId, { runId }] of modelCalls) if (runId === id) modelCalls.delete(spanId)
}

type Result = Awaited<ReturnType<RecordStore['apply']>>[number]

function applyOne(owner: OwnerData, row: ThreadData, runId: string, command: RecordCommand): Result {
  const run = row.runs.get(runId)
  const effect = commandEffect(command, {
    run: run ?? (owner.runIds.has(runId) ? 'elsewhere' : undefined),
    call: command.type === 'tool-call' ? row.calls.get(command.call.callId) : undefined,
    hasSpan: command.type === 'usage' && row.modelCalls.has(command.spanId),
    unfinished: row.journal?.runId,
    attempt: command.by && row.attempts.get(command.by.runId),
  })
  if (effect === 'refuse') return { runId, refused: true }
  if (command.type === 'run-start') {
    if (command.by?.runId === runId) row.attempts.set(runId, command.by.attempt)
    if (run && effect === 'write') reopen(row, run)
    return { runId, seq: run?.seq ?? addRun(owner, row, command.run) }
  }
  if (effect === 'write') write(row, run as RunRecord, command)
  return { runId }
}

type Changeable<T> = { -readonly [Key in keyof T]: T[Key] }
type Command<Type extends RecordCommand['type']> = Extract<RecordCommand, { readonly type: Type }>

function addRun(owner: OwnerData, row: ThreadData, start: Command<'run-start'>['run']): number {
  const { runId, parentRunId, agentName, startedAt } = start
  const seq = ++row.runSeq
  owner.runIds.add(runId)
  const parent = parentRunId !== undefined && { parentRunId }
  row.runs.set(runId, { runId, ...parent, agentName, seq, status: 'generating', text: '', startedAt })
  return seq
}

/** Opens the record of a run that is continued. */
function reopen(row: ThreadData, run: RunRecord): void {
  const { usage: _usage, error: _error, endedAt: _endedAt, ...rest } = run
  row.runs.set(run.runId, { ...rest, status: 'generating' })
}

/** Writes the fields that a record has; what else a command has is left out. */
function write(row: ThreadData, run: RunRecord, command: Exclude<RecordCommand, Command<'run-start'>>): void {
  switch (command.type) {
    case 'run-text':
      row.runs.set(run.runId, { ...run, text: run.text.slice(0, command.offset) + command.text })
      return
    case 'run-finish':
      row.runs.set(run.runId, finished(run, command))
      return
    case 'tool-call':
      row.calls.set(command.call.callId, copyOf(command.call))
      return
    case 'usage':
      row.modelCalls.set(command.spanId, modelCallOf(command))
  }
}

function finished(run: RunRecord, { status, usage, error, endedAt }: Command<'run-finish'>): RunRecord {
  return { ...run, status, ...(usage && { usage: usageOf(usage) }), ...(error && { error }), endedAt }
}

function copyOf(call: ToolCallRecord): ToolCallRecord {
  const { callId, runId, messageId, name, arguments: given, status, result, attempts, startedAt, endedAt } = call
  const copy: Changeable<ToolCallRecord> = { callId, runId, messageId, name, arguments: given, status, startedAt }
  if (result !== undefined) copy.result = result
  if (attempts !== undefined) copy.attempts = attempts
  if (endedAt !== undefined) copy.endedAt = endedAt
  return copy
}

function modelCallOf(command: Command<'usage'>): ModelCallRecord {
  const { spanId, runId, model, usage, finishReason, messageId, requestId } = command
  return {
    spanId,
    runId,
    model,
    usage: usageOf(usage),
    ...(finishReason !== undefined && { finishReason }),
    ...(messageId !== undefined && { messageId }),
    ...(requestId !== undefined && { requestId }),
  }
}
