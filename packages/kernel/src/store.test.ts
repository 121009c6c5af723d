import { describe, expect, it } from 'vitest'
import {
  checkAppend,
  checkCancel,
  checkCommands,
  checkCommit,
  checkFollow,
  checkHolder,
  checkId,
  checkJournal,
  checkMaintenance,
  checkPage,
  checkProcessed,
  checkRef,
  jsonText,
  runIdOf,
  usageOf,
} from './store.ts'

const ref = { app: 'app', user: 'anna', threadId: 't' }
const { signal } = new AbortController()
const call = { callId: 'c', runId: 'r', messageId: 'm', name: 'n', arguments: '{}', status: 'running', startedAt: 1 }
const usage = { inputTokens: 1, outputTokens: 1 }
const used = { type: 'usage', runId: 'r', spanId: 's', model: 'm', usage }

/** Calls a check with an argument that the types do not allow. */
const commit = (wrong: unknown) => () => checkCommit('store', wrong as never)
const command = (wrong: unknown) => () => checkCommands('store', [wrong] as never)

describe('malformed input is VALIDATION_FAILED and says who, what was expected and what was given', () => {
  it.each<[string, () => unknown]>([
    ['a ref with app, user and threadId, got undefined', () => checkRef('store', undefined as never)],
    ['a non-empty user, got ""', () => checkRef('store', { ...ref, user: '' })],
    ['threadId of at most 1000 bytes, got "xxx', () => checkRef('store', { ...ref, threadId: 'x'.repeat(1001) })],
    ['a limit from 1 to 1000, got 0', () => checkPage('store', { limit: 0 })],
    ['a number as after, got NaN', () => checkPage('store', { after: Number.NaN })],
    ['a number as before, got undefined', () => checkMaintenance('store', { limit: 1 } as never)],
    ['a list of processed ids, got "p"', () => checkProcessed('store', 'p' as never)],
    ['a commit, got an array', commit([])],
    ['an object of state keys, got null', commit({ set: null })],
    ['a state key that is not an object internal, got "constructor"', commit({ set: { constructor: 1 } })],
    ['a state of plain JSON, which it is not at .a.b, got an object', commit({ set: { a: { b: 1n } } })],
    ['a list of removed state keys, got "a"', commit({ removed: 'a' })],
    ['a message with its run, got null', commit({ messages: [null] })],
    ['a non-empty message id, got undefined', commit({ messages: [{ runId: 'r', message: {} }] })],
    ['a text as name of an open call, got undefined', commit({ openCalls: [{ callId: 'c' }] })],
    ['a checkpoint of plain JSON, or null, got a function', commit({ checkpoint: () => 1 })],
    ['a journal with runId and entries, or null, got an array', commit({ journal: [] })],
    ['a non-empty runId, got undefined', commit({ journal: { entries: [] } })],
    ['a list of journal entries, got undefined', commit({ journal: { runId: 'r' } })],
    ['a list of record commands, got an object', () => checkCommands('store', {} as never)],
    ['a record command, got null', command(null)],
    ['a record command of a known type, got "toString"', command({ type: 'toString' })],
    ['the run of a run-start, got undefined', command({ type: 'run-start' })],
    ['a text as agentName, got undefined', command({ type: 'run-start', run: { runId: 'r' } })],
    ['a whole number from 0 on as offset, got -1', command({ type: 'run-text', runId: 'r', offset: -1, text: '' })],
    ['an outcome as status of a run, got "done"', command({ type: 'run-finish', runId: 'r', status: 'done' })],
    ['a status of a tool call, got an array', command({ type: 'tool-call', call: { ...call, status: ['running'] } })],
    ['a result of plain JSON, got an object', command({ type: 'tool-call', call: { ...call, result: new Map() } })],
    ['a whole number from 1 on as attempts, got 0', command({ type: 'tool-call', call: { ...call, attempts: 0 } })],
    ['a whole number from 0 on as outputTokens, got undefined', command({ ...used, usage: { inputTokens: 1 } })],
    ['a list of journal entries, got "ab"', () => checkJournal('store', 'r', 'ab' as never)],
    ['a journal entry of plain JSON, got undefined', () => checkJournal('store', 'r', [undefined as never])],
    ['a list of events, got "ab"', () => checkAppend('store', 'r', 0, 'ab' as never)],
    ['an event of plain JSON, got undefined', () => checkAppend('store', 'r', 0, [undefined as never])],
    ['an AbortSignal as signal, got undefined', () => checkFollow('store', 'r', {} as never)],
    ['a positive ttlMs, got 0', () => checkHolder('store', { runId: 'r', ttlMs: 0 })],
    [
      'a cancel mode of after-tools, after-model, now, got "later"',
      () => checkCancel('store', { mode: 'later' as never }),
    ],
    ['a message of plain JSON, got an object', () => jsonText('store', 'a message', { big: 1n })],
  ])('%s', (message, called) => {
    expect(called).toThrow(expect.objectContaining({ code: 'VALIDATION_FAILED' }))
    expect(called).toThrow(`store: expected ${message}`)
  })

  it('a text that no column holds says where to keep it', () => {
    const large = 'x'.repeat(2 ** 26 + 1)
    const message = 'of at most 67108864 characters; keep large files elsewhere and store where they are, got 67108865'
    expect(command({ type: 'run-text', runId: 'r', offset: 0, text: large })).toThrow(`a text ${message}`)
    expect(commit({ messages: [{ runId: 'r', message: { id: 'm', content: large } }] })).toThrow(`a message ${message}`)
  })
})

it('an id is measured as a database stores it', () => {
  for (const id of ['x'.repeat(1000), 'é'.repeat(500), '\0'.repeat(166)]) checkId('store', 'id', id)
  for (const id of ['x'.repeat(1001), 'é'.repeat(501), '\0'.repeat(167), '\ud800'.repeat(167)]) {
    expect(() => checkId('store', 'id', id)).toThrow('id of at most 1000 bytes')
  }
})

it('a page is completed, with a whole cursor that every database can compare with', () => {
  const most = Number.MAX_SAFE_INTEGER
  expect(checkPage('store')).toEqual({ after: 0, limit: 100, newestFirst: false })
  expect(checkPage('store', { newestFirst: true })).toEqual({ after: most, limit: 100, newestFirst: true })
  expect(checkPage('store', { after: 1.5 }).after).toBe(1)
  expect(checkPage('store', { after: 1.5, newestFirst: true }).after).toBe(2)
  expect([checkPage('store', { after: 1e300 }).after, checkPage('store', { after: -9 }).after]).toEqual([most, -1])
})

it('the options of a follower are completed, with a whole cursor from 0 on', () => {
  expect(checkFollow('store', 'r', { signal })).toEqual({ after: 0, live: true, signal })
  expect(checkFollow('store', 'r', { after: -1.5, live: false, signal })).toEqual({ after: 0, live: false, signal })
})

it('a command is about one run', () => {
  expect(runIdOf({ type: 'run-start', run: { runId: 'a', agentName: '', startedAt: 1 } })).toBe('a')
  expect(runIdOf({ type: 'tool-call', call: call as never })).toBe('r')
  expect(runIdOf({ type: 'run-text', runId: 'b', offset: 0, text: '' })).toBe('b')
})

it('usage is kept without counts that are null and without other fields', () => {
  expect(
    usageOf({ ...usage, reasoningTokens: null, cachedInputTokens: 0, cacheWriteTokens: 2, more: 1 } as never),
  ).toEqual({
    ...usage,
    cachedInputTokens: 0,
    cacheWriteTokens: 2,
  })
  checkCommands('store', [{ ...used, usage: { ...usage, reasoningTokens: null } }] as never)
})
