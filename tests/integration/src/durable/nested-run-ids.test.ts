import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, runner } from '@troupe/flow'
import { KernelError, type Store, type ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { messageLifecycle } from '@troupe/persistence'
import { sqliteStore } from '@troupe/store-sqlite'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'

const thread = (threadId: string): ThreadRef => ({ app: 'desk', user: 'ann', threadId })

/** A desk whose agent calls another one in each run, with records; the id of the nested run is `<runId>/tool:0:0`. */
function desk(store: Store) {
  const messages = messageLifecycle({ store })
  const ask = async (runId: string, threadId = 't') => {
    const inner = chatModelAgent({ name: 'inner', description: 'Helps.', model: scriptedModel(['Inside.']) })
    const model = scriptedModel([{ toolCalls: [{ name: 'inner', arguments: { request: 'x' } }] }, 'Done.'])
    const outer = chatModelAgent({ name: 'outer', model, tools: [agentTool(inner)] })
    const run = runner({ agent: outer, store, callbacks: [messages] }).query('hi', { session: thread(threadId), runId })
    try {
      return (await run).text
    } catch (error) {
      return KernelError.from(error).code
    }
  }
  /** The runs of a thread that have a record: their ids, agents and tokens. */
  const recorded = async (threadId = 't') => {
    await messages.flush(thread(threadId))
    return (await store.records.runs(thread(threadId))).map(({ runId, agentName, status }) =>
      [runId, agentName, status].join(' '),
    )
  }
  return { ask, recorded }
}

describe.each<[string, () => Store]>([
  ['memory', () => memoryStore()],
  ['sqlite', () => sqliteStore({ path: ':memory:' })],
])('in %s, a run that a client names like a nested run of its own', (_, open) => {
  test.each(['t', 'other'])('is refused, so that nothing runs without a record (thread %s)', async (threadId) => {
    await using store = open()
    const { ask, recorded } = desk(store)
    expect(await ask('R')).toBe('Done.')
    const before = await recorded()
    expect(before).toEqual(['R outer complete', 'R/tool:0:0 inner complete'])
    expect(await ask('R/tool:0:0', threadId)).toBe('RUN_ID_TAKEN')
    expect(await ask('R/tool:0:0/tool:0:0', threadId)).toBe('RUN_ID_TAKEN')
    expect(await recorded()).toEqual(before)
  })

  test('takes the id of the run around it, too', async () => {
    await using store = open()
    const { ask, recorded } = desk(store)
    expect(await ask('R/tool:0:0')).toBe('Done.')
    expect(await ask('R', 'other')).toBe('RUN_ID_TAKEN')
    expect(await recorded('other')).toEqual([])
    expect(await ask('R2')).toBe('Done.')
    expect(await ask('R/tool:0:1')).toBe('Done.')
    expect(await recorded()).toHaveLength(6)
  })
})
