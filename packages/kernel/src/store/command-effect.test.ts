import { describe, expect, it, test } from 'vitest'
import { commandEffect } from './command-effect.ts'
import type { RecordCommand, RunRecord, ToolCallRecord } from './store.ts'

type CallStatus = ToolCallRecord['status']
type Effect = ReturnType<typeof commandEffect>

const OPEN: readonly CallStatus[] = ['running', 'awaiting', 'interrupted']
const SETTLED: readonly CallStatus[] = ['complete', 'failed', 'unknown']
const ENDED: readonly RunRecord['status'][] = ['complete', 'failed', 'cancelled', 'interrupted']

const usage = { inputTokens: 1, outputTokens: 1 }
const start: RecordCommand = { type: 'run-start', run: { runId: 'r', agentName: 'a', startedAt: 1 } }
const finish: RecordCommand = { type: 'run-finish', runId: 'r', status: 'complete', endedAt: 2 }
const used: RecordCommand = { type: 'usage', runId: 'r', spanId: 's', model: 'm', usage }
const text = (offset: number): RecordCommand => ({ type: 'run-text', runId: 'r', offset, text: 'x' })
const call = (status: CallStatus, runId = 'r'): RecordCommand => ({
  type: 'tool-call',
  call: { callId: 'c', runId, messageId: 'm', name: 'n', arguments: '{}', status, startedAt: 1 },
})
const run = (status: RunRecord['status']) => ({ status, text: 'abc' })

describe('a command of a run', () => {
  it.each<[string, RecordCommand, Effect, Effect, Effect]>([
    ['run-start', start, 'write', 'ignore', 'ignore'],
    ['run-text at the end', text(3), 'refuse', 'write', 'refuse'],
    ['run-text before the end', text(0), 'refuse', 'write', 'refuse'],
    ['run-text beyond the end', text(4), 'refuse', 'refuse', 'refuse'],
    ['run-finish', finish, 'refuse', 'write', 'refuse'],
    ['usage', used, 'refuse', 'write', 'refuse'],
    ['tool-call', call('running'), 'refuse', 'write', 'refuse'],
  ])('%s: unknown, generating, ended', (_, command, unknown, generating, ended) => {
    expect(commandEffect(command, { run: undefined })).toBe(unknown)
    expect(commandEffect(command, { run: run('generating') })).toBe(generating)
    for (const status of ENDED) expect(commandEffect(command, { run: run(status) }), status).toBe(ended)
    expect(commandEffect(command, { run: 'elsewhere' })).toBe('refuse')
  })

  it('is ignored if it is usage of a span that was written before, while the run goes on', () => {
    expect(commandEffect(used, { run: run('generating'), hasSpan: true })).toBe('ignore')
    expect(commandEffect(used, { run: run('complete'), hasSpan: true })).toBe('refuse')
  })
})

describe('a tool call', () => {
  const effect = (before: CallStatus, after: CallStatus, status: RunRecord['status'], runId = 'r') =>
    commandEffect(call(after, runId), { run: run(status), call: { runId: 'r', status: before } })

  test('of a run that goes on takes any status, but a settled one stays settled', () => {
    for (const before of OPEN) {
      for (const after of [...OPEN, ...SETTLED]) expect(effect(before, after, 'generating')).toBe('write')
    }
    for (const before of SETTLED) {
      for (const after of OPEN) expect(effect(before, after, 'generating')).toBe('refuse')
      for (const after of SETTLED) expect(effect(before, after, 'generating')).toBe('write')
    }
  })

  test('that another run has parked is taken up by a run that goes on', () => {
    expect(effect('interrupted', 'running', 'generating', 'next')).toBe('write')
    for (const after of [...OPEN, ...SETTLED]) expect(effect('interrupted', after, 'failed', 'stale')).toBe('refuse')
  })

  test('of a run that has ended is settled if it was parked, and unknown if it was running', () => {
    const written = ENDED.map((status) =>
      [...OPEN, ...SETTLED].flatMap((before) =>
        [...OPEN, ...SETTLED].flatMap((after) =>
          effect(before, after, status) === 'write' ? [`${before} to ${after}`] : [],
        ),
      ),
    )
    const parked = ['awaiting', 'interrupted'].flatMap((before) => SETTLED.map((after) => `${before} to ${after}`))
    for (const pairs of written) expect(pairs).toEqual(['running to unknown', ...parked])
  })
})
