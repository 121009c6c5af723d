import { type AgUiEvent, agUiHandler } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { KernelError, type Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { messageLifecycle } from '@troupe/persistence'
import { fakeClock, scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'

const OWNER = { app: 'app', user: 'ann' }
const REF = { ...OWNER, threadId: 't1' }
const MESSAGE = { id: 'u1', role: 'user', content: 'Hello' }

/** A server whose run log fails until it is told otherwise. */
function served(lostRuns: 'continue' | 'ask' = 'continue') {
  const clock = fakeClock()
  const bare = memoryStore({ clock })
  let failing = true
  const unavailable = () => Promise.reject(new KernelError('STORE_UNAVAILABLE', 'gone', { retryable: true }))
  const append: Store['runLog']['append'] = (...args) => (failing ? unavailable() : bare.runLog.append(...args))
  const store: Store = { ...bare, runLog: { ...bare.runLog, append } }
  const model = scriptedModel(['Hi.'])
  const records = messageLifecycle({ store, clock })
  const handler = agUiHandler({
    runner: runner({ agent: chatModelAgent({ name: 'desk', model }), store, clock, callbacks: [records] }),
    store,
    clock,
    owner: OWNER,
    lostRuns,
    report: () => {},
  })
  /** Sends a request and reads the answer while time passes. */
  const send = async (runId: string): Promise<{ readonly status: number; readonly events: readonly AgUiEvent[] }> => {
    const body = { threadId: 't1', runId, messages: [MESSAGE], tools: [], context: [], protocolVersion: '1.0' }
    const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    let done = false
    const work = handler(new Request('http://localhost/', init)).then(async (response) => {
      const text = await response.text()
      const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as AgUiEvent)
      done = true
      return { status: response.status, events }
    })
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(100)
    }
    return work
  }
  const recover = () => {
    failing = false
  }
  return { send, model, store, records, recover }
}

const textIn = (events: readonly AgUiEvent[]) =>
  events.flatMap((event) => (event.type === 'TEXT_MESSAGE_CONTENT' ? event.delta : '')).join('')

test.each([
  ['the same request', 'r1'],
  ['a request with a new run id', 'r2'],
])('a message whose run could not be logged is answered when %s comes after the outage', async (_what, runId) => {
  const { send, model, store, recover } = served()
  expect(await send('r1')).toMatchObject({ status: 503 })
  recover()
  const { status, events } = await send(runId)
  expect([status, textIn(events), events.at(-1)?.type]).toEqual([200, 'Hi.', 'RUN_FINISHED'])
  expect(model.requests).toHaveLength(1)
  const stored = await store.threads.messages(REF, { limit: 10 })
  expect(stored.map(({ message }) => message.content)).toEqual(['Hello', 'Hi.'])
  expect((await store.threads.get(REF))?.unfinished).toBeUndefined()
})

test('a run that goes on after the outage has one record, which ends as the run does', async () => {
  const { send, store, records, recover } = served()
  await send('r1')
  recover()
  await send('r1')
  await records.flush()
  expect(await store.records.runs(REF)).toMatchObject([{ runId: 'r1', status: 'complete', text: 'Hi.' }])
})

test('such a run is a lost one: where lost runs are not continued, the next request is told so', async () => {
  const { send, model, recover } = served('ask')
  await send('r1')
  recover()
  expect(await send('r1')).toMatchObject({ status: 409 })
  expect(model.requests).toHaveLength(0)
})
