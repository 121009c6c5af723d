import { addUsage, NO_USAGE } from '../data/message.ts'
import {
  allThreads,
  check,
  checkId,
  isId,
  locate,
  type MemoryData,
  type OwnerData,
  olderThan,
  pageOf,
  type ThreadData,
} from './memory-data.ts'
import type { RecordCommand, RecordStore, ToolCallRecord } from './store.ts'

type Result = Awaited<ReturnType<RecordStore['apply']>>[number]

/** Runs, tool calls and usage in memory. */
export function memoryRecords(data: MemoryData): RecordStore {
  return {
    async apply(ref, commands) {
      const { owner, row } = locate(data, ref)
      for (const command of commands) {
        check(isSound(command) && isId(subjectOf(command).runId), 'a well-formed record command', command?.type)
      }
      return commands.map((command) => {
        const { runId } = subjectOf(command)
        return row ? applyOne(owner, row, runId, command) : { runId, refused: true }
      })
    },

    async runs(ref, page) {
      return pageOf([...(locate(data, ref).row?.runs.values() ?? [])], page)
    },

    async toolCalls(ref, runId) {
      const { row } = locate(data, ref)
      checkId('runId', runId)
      return [...(row?.calls.values() ?? [])].filter((call) => call.runId === runId)
    },

    async modelCalls(ref, runId) {
      const { row } = locate(data, ref)
      checkId('runId', runId)
      return [...(row?.modelCalls.values() ?? [])].filter((call) => call.runId === runId)
    },

    async usage(ref) {
      const calls = locate(data, ref).row?.modelCalls.values() ?? []
      return [...calls].reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE)
    },

    async open(query) {
      const runs = allThreads(data).flatMap(({ thread, runs }) =>
        [...runs.values()].map((run) => ({ ...run, ref: thread.ref })),
      )
      return olderThan(
        query,
        'startedAt',
        runs.filter(({ status }) => status === 'generating'),
      )
    },
  }
}

function applyOne(owner: OwnerData, row: ThreadData, runId: string, command: RecordCommand): Result {
  const refused: Result = { runId, refused: true }
  const run = row.runs.get(runId)
  if (command.type === 'run-start') {
    if (run) return { runId, seq: run.seq }
    if (owner.runIds.has(runId)) return refused
    const seq = row.runs.size + 1
    owner.runIds.add(runId)
    row.runs.set(runId, { ...command.run, seq, status: 'generating', text: '' })
    return { runId, seq }
  }
  if (!run) return refused
  const generating = run.status === 'generating'
  if (command.type === 'tool-call') {
    const { call } = command
    if (!mayBecome(row.calls.get(call.callId), call, generating)) return refused
    row.calls.set(call.callId, { ...call })
    return { runId }
  }
  if (!generating) return refused
  if (command.type === 'run-text') {
    if (command.offset > run.text.length) return refused
    row.runs.set(runId, { ...run, text: run.text.slice(0, command.offset) + command.text })
  } else if (command.type === 'run-finish') {
    const { type, ...end } = command
    row.runs.set(runId, { ...run, ...end })
  } else if (!row.modelCalls.has(command.spanId)) {
    const { type, ...call } = command
    row.modelCalls.set(command.spanId, { ...call, usage: { ...call.usage } })
  }
  return { runId }
}

const SETTLED: readonly string[] = ['complete', 'failed', 'unknown']
const PARKED: readonly string[] = ['awaiting', 'interrupted']
const CALL_STATUSES: readonly string[] = ['running', ...PARKED, ...SETTLED]
const OUTCOMES: readonly string[] = ['complete', 'failed', 'cancelled', 'interrupted']
const TOKENS = ['inputTokens', 'outputTokens', 'reasoningTokens', 'cachedInputTokens'] as const

/** Whether a call may change to `after`. Once its run has finished, a parked call may only be settled, and a running one may only become `unknown`. */
function mayBecome(
  before: Pick<ToolCallRecord, 'runId' | 'status'> | undefined,
  after: ToolCallRecord,
  generating: boolean,
) {
  const settles = SETTLED.includes(after.status)
  if (generating) return settles || !before || !SETTLED.includes(before.status)
  if (before?.runId !== after.runId || !settles) return false
  return PARKED.includes(before.status) || (before.status === 'running' && after.status === 'unknown')
}

function subjectOf(command: RecordCommand): { readonly runId: string } {
  return command.type === 'run-start' ? command.run : command.type === 'tool-call' ? command.call : command
}

/** Checks the fields that would break a row, for callers without type checks. */
function isSound(command: RecordCommand): boolean {
  switch (command?.type) {
    case 'run-start':
      return Number.isFinite(command.run?.startedAt)
    case 'run-text':
      return isCount(command.offset) && typeof command.text === 'string'
    case 'run-finish':
      return OUTCOMES.includes(command.status) && Number.isFinite(command.endedAt)
    case 'tool-call':
      return isId(command.call?.callId) && CALL_STATUSES.includes(command.call.status)
    case 'usage':
      return isId(command.spanId) && TOKENS.every((key, i) => isCount(command.usage?.[key] ?? (i > 1 ? 0 : undefined)))
    default:
      return false
  }
}

function isCount(value: number | undefined): boolean {
  return Number.isInteger(value) && Number(value) >= 0
}
