import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventType, type ResumeEntry } from '@ag-ui/core'
import { SessionManager } from '@troupe/ag-ui'
import { defineTool, type Store } from '@troupe/kernel'
import { sqliteStore } from '@troupe/store-sqlite'
import { fakeClock } from '@troupe/testkit'
import { afterEach, describe, expect, test } from 'vitest'
import { ANN, Client, linesOf, PICK, picking, replica, scripted, storedLines } from './in-process-client.fixture.ts'

const opened: Store[] = []
const folders: string[] = []

/** Several processes on one file, each with its own clock. */
function processes(count: number) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-ag-ui-'))
  folders.push(folder)
  return Array.from({ length: count }, () => {
    const clock = fakeClock()
    const store = sqliteStore({ path: join(folder, 'chat.db'), clock })
    opened.push(store)
    return { clock, store }
  })
}

afterEach(async () => {
  for (const store of opened.splice(0)) await store[Symbol.asyncDispose]()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

/** Waits until a condition holds. */
async function until(holds: () => unknown): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}

describe('会话隔离: two replicas on one file', () => {
  test('a conversation goes on on either', async () => {
    const [a, b] = processes(2) as [ReturnType<typeof processes>[0], ReturnType<typeof processes>[0]]
    const { agent, model } = scripted([picking('c1'), 'Red it is.', 'Bye.'])
    const client = new Client(replica(agent, a.store))
    await client.say('Pick', { tools: [PICK] })
    client.server = replica(agent, b.store)
    client.result('c1', 'red')
    expect([await client.say(), client.text]).toEqual(['success', 'Red it is.'])
    client.server = replica(agent, a.store)
    expect(await client.say()).toBe('success')
    expect([client.text, model.requests.length]).toEqual(['', 2])
    await client.say('Thanks')
    expect(await storedLines(b.store)).toEqual([
      'user Pick',
      'assistant -> pick_colour',
      'tool pick_colour: red',
      'assistant Red it is.',
      'user Thanks',
      'assistant Bye.',
    ])
  })

  test('a run of one is busy for the other, and can be cancelled there', async () => {
    const [a, b] = processes(2) as [ReturnType<typeof processes>[0], ReturnType<typeof processes>[0]]
    const { agent } = scripted([{ text: 'Hm', hang: 'mid' }, 'Hello.'])
    const [one, two] = [
      replica(agent, a.store, { clock: a.clock }, { clock: a.clock }),
      replica(agent, b.store, { clock: b.clock }, { clock: b.clock }),
    ]
    const client = new Client(one)
    const ended = client.say('Think')
    await until(() => client.seen.some(({ type }) => type === EventType.STEP_STARTED))
    const other = new Client(two)
    expect(await other.say('Hello?')).toBe('THREAD_BUSY')
    expect(await two.cancel({ ...ANN, user: 'eve' })).toBe(false)
    expect(await two.cancel(ANN, 'another-run')).toBe(false)
    expect(await two.cancel(ANN, client.inputs[0]?.runId)).toBe(true)
    let done = false
    void ended.then(() => {
      done = true
    })
    await until(() => {
      a.clock.advance(500)
      return done
    })
    expect(await ended).toBe('cancelled')
    expect([await other.say(), other.text]).toEqual(['success', 'Hello.'])
  })

  test('one that is gone in the middle of a run leaves a thread that the other can go on with', async () => {
    const [a, b] = processes(2) as [ReturnType<typeof processes>[0], ReturnType<typeof processes>[0]]
    const { agent, model } = scripted([picking('c1'), { text: 'Hm', hang: 'mid' }, 'Hello.'])
    const client = new Client(replica(agent, a.store, { clock: a.clock }, { clock: a.clock }))
    await client.say('Pick', { tools: [PICK] })
    client.result('c1', 'red')
    // From here on its clock stands still, so that it neither renews nor releases its lease.
    const lost = client.say()
    await until(() => model.requests.length === 2)
    b.clock.advance(60_000)
    const server = replica(agent, b.store, { clock: b.clock }, { clock: b.clock })
    const other = new Client(server)
    other.messages = [...client.messages]
    // The result is in the thread: a request that brings nothing new does not begin another run.
    expect(await other.say()).toBe('RUN_LOST')
    const events = await Array.fromAsync(server.continue(ANN))
    expect(events[0]).toMatchObject({ type: EventType.RUN_STARTED, runId: client.inputs[1]?.runId })
    expect(events.flatMap((event) => (event.type === EventType.TEXT_MESSAGE_CONTENT ? event.delta : []))).toEqual([
      'Hello.',
    ])
    expect(linesOf(model.requests[2]?.messages)).toEqual([
      'user Pick',
      'assistant -> pick_colour',
      'tool pick_colour: red',
    ])
    a.clock.advance(700_000)
    await until(async () => {
      a.clock.advance(1_000)
      return (await Promise.race([lost, Promise.resolve('open')])) !== 'open'
    })
    expect(['LEASE_LOST', 'EXECUTION_TIMEOUT']).toContain(await lost)
    expect(await storedLines(b.store)).toHaveLength(4)
  })

  test('an answer that a run has taken and not come to an end with is not taken again: its client hears that the run broke off', async () => {
    const [a, b] = processes(2) as [ReturnType<typeof processes>[0], ReturnType<typeof processes>[0]]
    let started = 0
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: { type: 'object' },
      needsApproval: () => true,
      invoke: () => {
        started++
        return new Promise(() => {})
      },
    })
    const { agent, model } = scripted([{ toolCalls: [{ id: 'c1', name: 'pay' }] }, 'It is not known.'], [pay])
    const client = new Client(replica(agent, a.store, { clock: a.clock }, { clock: a.clock }))
    await client.say('Pay')
    const resume = client.pendingInterrupts.map(
      ({ id }): ResumeEntry => ({ interruptId: id, status: 'resolved', payload: { approved: true } }),
    )
    void client.say(undefined, { resume })
    await until(() => started === 1)
    b.clock.advance(60_000)
    const other = new Client(replica(agent, b.store, { clock: b.clock }, { clock: b.clock }))
    other.messages = [...client.messages]
    expect(await other.say(undefined, { resume })).toBe('RUN_LOST')
    expect([started, model.requests.length]).toEqual([1, 1])
    expect([await other.say('And?'), other.text]).toEqual(['success', 'It is not known.'])
    expect(await storedLines(b.store)).toContain('tool pay: The outcome of this call is not known.')
  })

  test('a sweep on one spares what runs or waits on the other', async () => {
    const [a, b] = processes(2) as [ReturnType<typeof processes>[0], ReturnType<typeof processes>[0]]
    const { agent } = scripted([picking('c1'), 'Hi.', { text: 'Hm', hang: 'mid' }])
    const one = replica(agent, a.store, { clock: a.clock }, { clock: a.clock, limits: { leaseMs: 10_000_000 } })
    await new Client(one, 'waits').say('Pick', { tools: [PICK] })
    await new Client(one, 'idle').say('Hi')
    const running = new Client(one, 'runs')
    const ended = running.say('Think')
    await until(() => running.seen.length > 2)
    b.clock.advance(1_300_000)
    const swept = await new SessionManager({ store: b.store, clock: b.clock }).sweep()
    expect(swept).toEqual({ deleted: 1, pending: 1, failed: 0, logs: 0 })
    expect((await b.store.threads.list(ANN)).map(({ ref }) => ref.threadId).sort()).toEqual(['runs', 'waits'])
    await one.cancel({ ...ANN, threadId: 'runs' })
    a.clock.advance(2_000)
    await until(async () => {
      a.clock.advance(1_000)
      return (await Promise.race([ended, Promise.resolve('open')])) !== 'open'
    })
  })
})

test('用户会话限制: the oldest conversation of a user makes room when a new one begins', async () => {
  const [{ store }] = processes(1) as [ReturnType<typeof processes>[0]]
  const { agent } = scripted(['1', picking('c1'), '2', '3'])
  const sessions = new SessionManager({ store, maxSessionsPerUser: 2 })
  const server = replica(agent, store, { sessions })
  await new Client(server, 'old').say('Hi')
  await new Client(server, 'waits').say('Pick', { tools: [PICK] })
  expect(await new Client(server, 'new').say('Hi')).toBe('success')
  expect((await store.threads.list(ANN)).map(({ ref }) => ref.threadId)).toEqual(['waits', 'new'])
  expect(await new Client(server, 'newer').say('Hi')).toBe('success')
  expect((await store.threads.list(ANN)).map(({ ref }) => ref.threadId)).toEqual(['waits', 'newer'])
})
