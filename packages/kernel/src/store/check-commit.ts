import { isForbiddenKey, notJson } from '../data/json.ts'
import { isObject } from '../data/kernel-error.ts'
import { checkId } from './check-id.ts'
import { checkJournal } from './check-journal.ts'
import { check, checkList, checkText, isRecord, isText, looksLikeJson, malformed } from './check-value.ts'
import { checkLength } from './json-text.ts'
import type { CommittedMessage, ThreadCommit } from './store.ts'

type Part<Name extends keyof ThreadCommit> = NonNullable<ThreadCommit[Name]>

/** Checks a commit. Contract: walks the state; messages, the checkpoint and the entries of the journal are JSON by their types and are not walked. */
export function checkCommit(who: string, commit: ThreadCommit): void {
  check(who, isRecord(commit), 'a commit', commit)
  const { set, removed, messages, openCalls, checkpoint = null, processed, journal = null, release = true } = commit
  if (set !== undefined) checkState(who, set)
  if (removed !== undefined) checkRemoved(who, removed)
  if (messages !== undefined) checkMessages(who, messages)
  if (openCalls !== undefined) checkOpenCalls(who, openCalls)
  check(who, looksLikeJson(checkpoint), 'a checkpoint of plain JSON, or null', checkpoint)
  if (processed !== undefined) {
    checkList(who, 'processed ids', processed)
    for (const id of processed) checkId(who, 'processed id', id)
  }
  check(who, release === true, 'true or nothing as release', release)
  if (journal === null) return
  check(who, isRecord(journal), 'a journal with runId and entries, or null', journal)
  checkJournal(who, journal.runId, journal.entries)
}

function checkKey(who: string, key: string): void {
  check(who, isText(key) && !isForbiddenKey(key), 'a state key that is not an object internal', key)
}

function checkState(who: string, set: Part<'set'>): void {
  check(who, isRecord(set), 'an object of state keys', set)
  for (const key of Object.keys(set)) checkKey(who, key)
  const path = notJson(set)
  if (path !== undefined) throw malformed(who, `a state of plain JSON, which it is not at ${path}`, set)
}

function checkRemoved(who: string, removed: Part<'removed'>): void {
  checkList(who, 'removed state keys', removed)
  for (const key of removed) checkKey(who, key)
}

function checkMessages(who: string, messages: Part<'messages'>): void {
  checkList(who, 'messages', messages)
  for (const entry of messages) {
    if (!isObject(entry) || !isObject(entry.message)) throw malformed(who, 'a message with its run', entry)
    checkId(who, 'message id', entry.message.id)
    checkId(who, 'runId', entry.runId)
    if (isText(entry.message.content)) checkLength(who, 'a message', entry.message.content)
    if (entry.changes !== undefined) checkChanges(who, entry.changes)
  }
}

function checkChanges(who: string, changes: NonNullable<CommittedMessage['changes']>): void {
  check(who, isRecord(changes), 'changes of the state with set and removed', changes)
  const { set, removed } = changes
  if (set !== undefined) checkState(who, set)
  if (removed !== undefined) checkRemoved(who, removed)
}

function checkOpenCalls(who: string, openCalls: Part<'openCalls'>): void {
  checkList(who, 'open calls', openCalls)
  for (const call of openCalls) {
    if (!isObject(call)) throw malformed(who, 'an open call', call)
    check(who, isText(call.callId) && call.callId !== '', 'a non-empty callId of an open call', call.callId)
    checkText(who, 'name of an open call', call.name)
    checkText(who, 'agentName of an open call', call.agentName)
  }
}
