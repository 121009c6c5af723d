import {
  KernelError,
  type KernelErrorCode,
  type KernelErrorOptions,
  type Owner,
  type Page,
  type RecordCommand,
  type ThreadCommit,
  type ThreadRef,
  type ToolCallRecord,
} from '@troupe/kernel'
import { got, notJson } from '@troupe/kernel/kit'
import { checkLength, toColumn } from './text.ts'

/** A key longer than this does not fit the indexes of PostgreSQL. */
const MAX_ID_BYTES = 1000

/** An error of a store. */
export function failure(
  who: string,
  code: KernelErrorCode,
  what: string,
  value: unknown,
  options?: KernelErrorOptions,
): KernelError {
  return new KernelError(code, `${who}: ${what}, ${got(value)}`, options)
}

/** Throws `VALIDATION_FAILED` unless `ok`. */
export function check(who: string, ok: boolean, what: string, value: unknown): void {
  if (!ok) throw failure(who, 'VALIDATION_FAILED', `expected ${what}`, value)
}

/** Checks a name and gives it as its column. */
export function checkId(who: string, what: string, value: string): string {
  check(who, isId(value), `a non-empty ${what}`, value)
  const column = toColumn(value)
  // A text of n units is at most 3n bytes.
  if (column.length * 3 > MAX_ID_BYTES) {
    check(who, Buffer.byteLength(column) <= MAX_ID_BYTES, `a ${what} of at most ${MAX_ID_BYTES} bytes`, value)
  }
  return column
}

/** Checks a place in a sequence or a moment. */
export function checkNumber(who: string, what: string, value: number): void {
  check(who, Number.isFinite(value), `a number as ${what}`, value)
}

/** An owner as columns. */
export interface OwnerKey {
  readonly app: string
  readonly user: string
}

/** A thread's ref as columns. */
export interface ThreadKey extends OwnerKey {
  readonly threadId: string
}

export function checkOwner(who: string, { app, user }: Owner): OwnerKey {
  return { app: checkId(who, 'app', app), user: checkId(who, 'user', user) }
}

export function checkRef(who: string, ref: ThreadRef): ThreadKey {
  return { ...checkOwner(who, ref), threadId: checkId(who, 'threadId', ref.threadId) }
}

/** A page whose cursor is a whole number that every database can compare with. */
export function checkPage(who: string, page: Page = {}): Required<Page> {
  const { newestFirst = false, limit = 100, after = newestFirst ? Number.MAX_SAFE_INTEGER : 0 } = page
  checkLimit(who, limit)
  checkNumber(who, 'after', after)
  const whole = newestFirst ? Math.ceil(after) : Math.floor(after)
  return { newestFirst, limit, after: Math.min(Math.max(whole, -1), Number.MAX_SAFE_INTEGER) }
}

/** What maintenance asks for. */
export interface Maintenance {
  readonly before: number
  readonly limit: number
}

export function checkMaintenance(who: string, { before, limit }: Maintenance): Maintenance {
  checkNumber(who, 'before', before)
  checkLimit(who, limit)
  return { before, limit }
}

function checkLimit(who: string, limit: number): void {
  check(who, Number.isInteger(limit) && limit >= 1 && limit <= 1000, 'a limit from 1 to 1000', limit)
}

export function checkTtl(who: string, ttlMs: number): void {
  check(who, Number.isFinite(ttlMs) && ttlMs > 0, 'a positive ttlMs', ttlMs)
}

const INTERNALS: readonly string[] = ['__proto__', 'constructor', 'prototype']

export function checkCommit(who: string, { set = {}, removed = [], messages = [] }: ThreadCommit): void {
  for (const key of [...Object.keys(set), ...removed]) {
    check(who, !INTERNALS.includes(key), 'a state key that is no object internal', key)
  }
  const path = notJson(set)
  check(who, path === undefined, `a state of plain JSON, not so at ${path}`, set)
  for (const entry of messages) check(who, isId(entry?.message?.id), 'a message with an id', entry)
}

const OUTCOMES: readonly string[] = ['complete', 'failed', 'cancelled', 'interrupted']
const CALL_STATUSES: readonly string[] = ['running', 'awaiting', 'interrupted', 'complete', 'failed', 'unknown']
const TOKENS = ['inputTokens', 'outputTokens', 'reasoningTokens', 'cachedInputTokens'] as const

/** Whose command it is. */
export function subjectOf(command: RecordCommand): string {
  return command.type === 'run-start'
    ? command.run.runId
    : command.type === 'tool-call'
      ? command.call.runId
      : command.runId
}

export function checkCommand(who: string, command: RecordCommand): void {
  check(who, isSound(command), 'a well-formed record command', command?.type)
  checkId(who, 'runId', subjectOf(command))
  if (command.type === 'run-text') checkLength(command.text, who, 'a text')
}

/** What the types cannot promise of a caller without them, as far as a row would be broken by it. */
function isSound(command: RecordCommand): boolean {
  switch (command?.type) {
    case 'run-start':
      return Number.isFinite(command.run?.startedAt) && isText(command.run.agentName)
    case 'run-text':
      return isCount(command.offset) && typeof command.text === 'string'
    case 'run-finish':
      return OUTCOMES.includes(command.status) && Number.isFinite(command.endedAt)
    case 'tool-call':
      return isId(command.call?.callId) && isCall(command.call)
    case 'usage':
      if (!isId(command.spanId) || !isText(command.model)) return false
      if (![command.finishReason, command.messageId, command.requestId].every((text = '') => isText(text))) return false
      return TOKENS.every((key, i) => isCount(command.usage?.[key] ?? (i > 1 ? 0 : undefined)))
    default:
      return false
  }
}

function isCall({ status, messageId, name, arguments: given, startedAt, endedAt = 0 }: ToolCallRecord): boolean {
  const moments = Number.isFinite(startedAt) && Number.isFinite(endedAt)
  return CALL_STATUSES.includes(status) && moments && [messageId, name, given].every(isText)
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isCount(value: number | undefined): boolean {
  return Number.isInteger(value) && Number(value) >= 0
}
