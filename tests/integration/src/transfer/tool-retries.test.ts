import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { logging } from '@troupe/handlers'
import { defineTool, KernelError, type Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { sqliteStore } from '@troupe/store-sqlite'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { ANN, calling } from './scripted-tree.fixture.ts'

const STORES: [string, () => Store][] = [
  ['in memory', () => memoryStore()],
  ['in SQLite', () => sqliteStore({ path: ':memory:' })],
]

/** A tool whose first calls fail. */
const flaky = (name: string, effect: 'pure' | 'once') => {
  let calls = 0
  return defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    effect,
    invoke() {
      if (++calls < 3) throw new KernelError('BUSY', `${name}: busy`, { retryable: true })
      return `${name} worked`
    },
  })
}

test.each(STORES)('the record and the log of a call say how often its tool was called, %s', async (_, open) => {
  const store = open()
  const lines: unknown[] = []
  const messages = messageLifecycle({ store })
  const agent = chatModelAgent({
    name: 'a',
    model: scriptedModel([calling('read', 'send'), 'Done.']),
    tools: [flaky('read', 'pure'), flaky('send', 'once')],
    toolRetry: (error, attempt) => (error.retryable && attempt < 5 ? 0 : undefined),
    handlers: [logging({ log: (line) => lines.push(line) })],
  })
  const { query } = runner({ agent, store, callbacks: [messages, toolLifecycle({ messages })] })
  await query('Go', { session: ANN, runId: 'r1' })
  await messages.flush()
  const calls = await store.records.toolCalls(ANN, 'r1')
  expect(calls.map(({ name, status, attempts }) => [name, status, attempts]).toSorted()).toEqual([
    ['read', 'complete', 3],
    ['send', 'failed', undefined],
  ])
  expect(lines).toContainEqual(expect.objectContaining({ tool: 'read', status: 'complete', attempts: 3 }))
})
