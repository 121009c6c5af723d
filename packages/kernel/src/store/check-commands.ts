import type { Outcome } from '../data/event.ts'
import type { Usage } from '../data/message.ts'
import { checkId } from './check-id.ts'
import { checkLength } from './json-text.ts'
import { check, isRecord, isText, looksLikeJson, malformed } from './malformed.ts'
import type { RecordCommand, ToolCallRecord } from './store.ts'

type Command<Type extends RecordCommand['type']> = Extract<RecordCommand, { readonly type: Type }>

const OUTCOMES: Record<Outcome, true> = { complete: true, failed: true, cancelled: true, interrupted: true }
const CALL_STATUSES: Record<ToolCallRecord['status'], true> = {
  running: true,
  awaiting: true,
  interrupted: true,
  complete: true,
  failed: true,
  unknown: true,
}
const CHECKS: { readonly [Type in RecordCommand['type']]: (who: string, command: Command<Type>) => void } = {
  'run-start': checkStart,
  'run-text': checkText,
  'run-finish': checkFinish,
  'tool-call': checkCall,
  usage: checkModelCall,
}

/** Checks record commands. Contract: a result is JSON by its type and is not walked. */
export function checkCommands(who: string, commands: readonly RecordCommand[]): void {
  check(who, Array.isArray(commands), 'a list of record commands', commands)
  for (const command of commands) {
    check(who, isRecord(command), 'a record command', command)
    const { type } = command
    check(who, isText(type) && Object.hasOwn(CHECKS, type), 'a record command of a known type', type)
    const checkCommand = CHECKS[type] as (who: string, command: RecordCommand) => void
    checkCommand(who, command)
  }
}

/** The run that a command is about. */
export function runIdOf(command: RecordCommand): string {
  if (command.type === 'run-start') return command.run.runId
  return command.type === 'tool-call' ? command.call.runId : command.runId
}

function checkStart(who: string, { run }: Command<'run-start'>): void {
  check(who, isRecord(run), 'the run of a run-start', run)
  checkId(who, 'runId', run.runId)
  if (run.parentRunId !== undefined) checkId(who, 'parentRunId', run.parentRunId)
  check(who, isText(run.agentName), 'a text as agentName', run.agentName)
  check(who, Number.isFinite(run.startedAt), 'a number as startedAt', run.startedAt)
}

function checkText(who: string, { runId, offset, text }: Command<'run-text'>): void {
  checkId(who, 'runId', runId)
  check(who, isCount(offset), 'a whole number from 0 on as offset', offset)
  check(who, isText(text), 'a text of a run', text)
  checkLength(who, 'a text', text)
}

function checkFinish(who: string, { runId, status, usage, error, endedAt }: Command<'run-finish'>): void {
  checkId(who, 'runId', runId)
  check(who, isText(status) && Object.hasOwn(OUTCOMES, status), 'an outcome as status of a run', status)
  check(who, Number.isFinite(endedAt), 'a number as endedAt', endedAt)
  if (usage !== undefined) checkUsage(who, usage)
  if (error === undefined) return
  check(who, isRecord(error) && isText(error.code) && isText(error.message), 'an error with code and message', error)
}

function checkCall(who: string, { call }: Command<'tool-call'>): void {
  check(who, isRecord(call), 'the call of a tool-call', call)
  checkId(who, 'callId', call.callId)
  checkId(who, 'runId', call.runId)
  check(who, isText(call.messageId), 'a text as messageId', call.messageId)
  check(who, isText(call.name), 'a text as name of a tool', call.name)
  check(who, isText(call.arguments), 'a text as arguments', call.arguments)
  checkLength(who, 'arguments', call.arguments)
  check(who, isText(call.status) && Object.hasOwn(CALL_STATUSES, call.status), 'a status of a tool call', call.status)
  const { result = null, startedAt, endedAt = 0 } = call
  check(who, looksLikeJson(result), 'a result of plain JSON', result)
  check(who, Number.isFinite(startedAt), 'a number as startedAt', startedAt)
  check(who, Number.isFinite(endedAt), 'a number as endedAt', endedAt)
}

function checkModelCall(who: string, command: Command<'usage'>): void {
  checkId(who, 'spanId', command.spanId)
  checkId(who, 'runId', command.runId)
  check(who, isText(command.model), 'a text as model', command.model)
  checkUsage(who, command.usage)
  const { finishReason = 'other', messageId = '', requestId = '' } = command
  check(who, isText(finishReason), 'a text as finishReason', finishReason)
  check(who, isText(messageId), 'a text as messageId', messageId)
  check(who, isText(requestId), 'a text as requestId', requestId)
}

function checkUsage(who: string, usage: Usage): void {
  check(who, isRecord(usage), 'usage with inputTokens and outputTokens', usage)
  checkCount(who, 'inputTokens', usage.inputTokens)
  checkCount(who, 'outputTokens', usage.outputTokens)
  // An optional count may also be null, which some models give.
  checkCount(who, 'reasoningTokens', usage.reasoningTokens ?? 0)
  checkCount(who, 'cachedInputTokens', usage.cachedInputTokens ?? 0)
}

function checkCount(who: string, what: string, value: unknown): void {
  if (!isCount(value)) throw malformed(who, `a whole number from 0 on as ${what}`, value)
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0
}
