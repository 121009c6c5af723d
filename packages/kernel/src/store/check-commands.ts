import type { Outcome } from '../data/event.ts'
import type { Usage } from '../data/message.ts'
import { checkId } from './check-id.ts'
import {
  check,
  checkCount,
  checkList,
  checkNumber,
  checkText,
  isRecord,
  isText,
  looksLikeJson,
  malformed,
} from './check-value.ts'
import { checkLength } from './json-text.ts'
import type { RecordCommand, ToolCallRecord } from './store.ts'

type Command<Type extends RecordCommand['type']> = Extract<RecordCommand, { readonly type: Type }>

const OUTCOMES = namesOf<Outcome>({ complete: true, failed: true, cancelled: true, interrupted: true })
const CALL_STATUSES = namesOf<ToolCallRecord['status']>({
  running: true,
  awaiting: true,
  interrupted: true,
  complete: true,
  failed: true,
  unknown: true,
})

/** The names of a type; the compiler tells if one is missing. */
function namesOf<Name extends string>(names: Readonly<Record<Name, true>>): ReadonlySet<unknown> {
  return new Set(Object.keys(names))
}

/** Checks record commands. Contract: a result is JSON by its type and is not walked. */
export function checkCommands(who: string, commands: readonly RecordCommand[]): void {
  checkList(who, 'record commands', commands)
  for (const command of commands) {
    check(who, isRecord(command), 'a record command', command)
    checkCommand(who, command)
    if (command.by !== undefined) checkAttempt(who, command.by)
  }
}

/** The run that a command is about. */
export function runIdOf(command: RecordCommand): string {
  if (command.type === 'run-start') return command.run.runId
  return command.type === 'tool-call' ? command.call.runId : command.runId
}

function checkCommand(who: string, command: RecordCommand): void {
  switch (command.type) {
    case 'run-start':
      checkStart(who, command)
      break
    case 'run-text':
      checkRunText(who, command)
      break
    case 'run-finish':
      checkFinish(who, command)
      break
    case 'tool-call':
      checkCall(who, command)
      break
    case 'usage':
      checkModelCall(who, command)
      break
    default:
      throw malformed(who, 'a record command of a known type', (command as { readonly type?: unknown }).type)
  }
}

function checkAttempt(who: string, by: NonNullable<RecordCommand['by']>): void {
  check(who, isRecord(by), 'an attempt with runId and attempt', by)
  checkId(who, 'runId', by.runId)
  checkCount(who, 'attempt', by.attempt)
}

function checkStart(who: string, { run }: Command<'run-start'>): void {
  check(who, isRecord(run), 'the run of a run-start', run)
  checkId(who, 'runId', run.runId)
  if (run.parentRunId !== undefined) checkId(who, 'parentRunId', run.parentRunId)
  checkText(who, 'agentName', run.agentName)
  checkNumber(who, 'startedAt', run.startedAt)
}

function checkRunText(who: string, { runId, offset, text }: Command<'run-text'>): void {
  checkId(who, 'runId', runId)
  checkCount(who, 'offset', offset)
  checkText(who, 'text of a run', text)
  checkLength(who, 'a text', text)
}

function checkFinish(who: string, { runId, status, usage, error, endedAt }: Command<'run-finish'>): void {
  checkId(who, 'runId', runId)
  check(who, OUTCOMES.has(status), 'an outcome as status of a run', status)
  checkNumber(who, 'endedAt', endedAt)
  if (usage !== undefined) checkUsage(who, usage)
  if (error === undefined) return
  check(who, isRecord(error) && isText(error.code) && isText(error.message), 'an error with code and message', error)
}

function checkCall(who: string, { call }: Command<'tool-call'>): void {
  check(who, isRecord(call), 'the call of a tool-call', call)
  const { status, result = null, attempts = 1, endedAt = 0 } = call
  checkId(who, 'callId', call.callId)
  checkId(who, 'runId', call.runId)
  checkText(who, 'messageId', call.messageId)
  checkText(who, 'name of a tool', call.name)
  checkText(who, 'arguments', call.arguments)
  checkLength(who, 'arguments', call.arguments)
  check(who, CALL_STATUSES.has(status), 'a status of a tool call', status)
  check(who, looksLikeJson(result), 'a result of plain JSON', result)
  check(who, Number.isInteger(attempts) && attempts >= 1, 'a whole number from 1 on as attempts', attempts)
  checkNumber(who, 'startedAt', call.startedAt)
  checkNumber(who, 'endedAt', endedAt)
}

function checkModelCall(who: string, command: Command<'usage'>): void {
  const { finishReason = '', messageId = '', requestId = '' } = command
  checkId(who, 'spanId', command.spanId)
  checkId(who, 'runId', command.runId)
  checkText(who, 'model', command.model)
  checkUsage(who, command.usage)
  checkText(who, 'finishReason', finishReason)
  checkText(who, 'messageId', messageId)
  checkText(who, 'requestId', requestId)
}

function checkUsage(who: string, usage: Usage): void {
  check(who, isRecord(usage), 'usage with inputTokens and outputTokens', usage)
  checkCount(who, 'inputTokens', usage.inputTokens)
  checkCount(who, 'outputTokens', usage.outputTokens)
  // An optional count may also be null, which some models give.
  checkCount(who, 'reasoningTokens', usage.reasoningTokens ?? 0)
  checkCount(who, 'cachedInputTokens', usage.cachedInputTokens ?? 0)
  checkCount(who, 'cacheWriteTokens', usage.cacheWriteTokens ?? 0)
  const { cost } = usage
  check(who, (cost ?? 0) >= 0 && Number.isFinite(cost ?? 0), 'a number from 0 on as cost', cost)
}
