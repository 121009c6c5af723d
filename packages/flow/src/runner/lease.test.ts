import { KernelError } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, test } from 'vitest'
import type { FlowRunner, RunnerOptions } from '../index.ts'
import { type Gate, gate, obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, checkpointOf, type Setup, session, settled, setup, tapped, unsound } from './runner.fixture.ts'

type Tap = (operation: string, count: number) => void | Promise<void>

interface Fragile extends Setup {
  readonly operations: string[]
  /** Called for each operation with the number of times it has been called. */
  readonly tap: { now: Tap }
  /** How far the clock of the store is ahead, as after a process has slept. */
  readonly ahead: { ms: number }
}

/** A setup whose store can fail. */
function fragile(options: Partial<RunnerOptions> = {}): Fragile {
  const operations: string[] = []
  const tap: { now: Tap } = { now: () => undefined }
  const ahead = { ms: 0 }
  const env = setup(options, (clock) =>
    tapped(memoryStore({ clock: { now: () => clock.now() + ahead.ms } }), (operation) => {
      operations.push(operation)
      return tap.now(operation, operations.filter((name) => name === operation).length)
    }),
  )
  return { ...env, operations, tap, ahead }
}

const down = (): never => {
  throw new KernelError('NOT_FOUND', 'the store is down')
}
const never: Promise<never> = new Promise(() => {})

/** Starts a run R1 that waits in a tool. */
async function waitingInTool(
  limits: RunnerOptions['limits'] = {},
): Promise<ReturnType<typeof fragile> & { desk: FlowRunner; gate: Gate; first: Promise<string> }> {
  const door = gate()
  const env = fragile({ agent: obedient('Desk', { wait: door.pass }), limits })
  const desk = env.runner()
  const first = settled(desk.query('call wait:a', { ...session, runId: 'R1' }))
  await door.entered
  return { ...env, desk, gate: door, first }
}

const ends = ({ heard }: Setup) => heard.filter(({ type }) => type === 'run-end').length

describe('the lease', () => {
  test('is renewed while the run goes on, however long', async () => {
    const env = await waitingInTool({ runMs: 1_000_000 })
    await env.pass(300_000, 1_000)
    expect(await settled(env.runner().query('hi', session))).toBe('THREAD_BUSY')
    env.gate.open()
    expect(await env.first).toBe('got passed')
    expect(env.clock.pending).toBe(0)
  })

  test('is renewed in time also when it is shorter than the pace of looking', async () => {
    const env = await waitingInTool({ leaseMs: 900, pollMs: 60_000 })
    await env.pass(10_000, 100)
    env.gate.open()
    expect(await env.first).toBe('got passed')
  })

  test('that another run has taken ends the run as failed, with LEASE_LOST, and only its beginning is stored', async () => {
    const env = await waitingInTool()
    env.ahead.ms = 40_000
    const mine = settled(env.runner().query('mine', { ...session, runId: 'R2' }))
    expect(await mine).toBe('heard call wait:a | mine')
    await env.pass(4_000)
    expect(await env.first).toBe('LEASE_LOST')
    const end = env.heard.findLast(({ type, runId }) => type === 'run-end' && runId === 'R1')
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'LEASE_LOST' } })
    expect(await env.lines()).toEqual(['user call wait:a', 'user mine', 'assistant heard call wait:a | mine'])
    expect(ends(env)).toBe(2)
    expect(env.clock.pending).toBe(0)
  })

  test('that cannot be renewed for a while is kept', async () => {
    const env = await waitingInTool()
    env.tap.now = (operation) => (operation === 'leases.renew' ? down() : undefined)
    await env.pass(20_000)
    env.tap.now = () => undefined
    await env.pass(60_000)
    env.gate.open()
    expect(await env.first).toBe('got passed')
  })

  test('that cannot be renewed until it expires is lost', async () => {
    const env = await waitingInTool()
    env.tap.now = (operation) => (operation === 'leases.renew' ? down() : undefined)
    await env.pass(28_000)
    expect(ends(env)).toBe(0)
    await env.pass(6_000)
    expect(await env.first).toBe('LEASE_LOST')
    expect(env.clock.pending).toBe(0)
  })

  test('whose renewal never comes back is lost as well', async () => {
    const env = await waitingInTool()
    env.tap.now = (operation) => (operation === 'leases.renew' ? never : undefined)
    await env.pass(60_000)
    expect(ends(env)).toBe(1)
    expect(await env.first).toBe('LEASE_LOST')
  })

  test('whose renewal never comes back does not keep a run from its time limit', async () => {
    const env = await waitingInTool({ runMs: 10_000 })
    env.tap.now = (operation) => (operation === 'leases.renew' ? never : undefined)
    await env.pass(20_000)
    expect(ends(env)).toBe(1)
    expect(await env.first).toBe('TIMEOUT')
  })

  test('that was lost before the commit: failed, only its beginning is stored', async () => {
    const env = await waitingInTool()
    env.ahead.ms = 40_000
    const { token } = await env.store.leases.acquire(ANN, { runId: 'R2', ttlMs: 60_000 })
    env.gate.open()
    expect(await env.first).toBe('LEASE_LOST')
    expect(await env.lines()).toEqual(['user call wait:a'])
    await env.store.leases.release(ANN, token)
    expect(await settled(env.desk.query('next', session))).toBe('heard call wait:a | next')
  })
})

/** Covers every operation of a run, one after the other. */
async function operationsOf(text: string): Promise<[string, string, number][]> {
  const env = fragile({ agent: obedient('Desk', TOOLS) })
  await settled(env.runner().query(text, session))
  const counts = new Map<string, number>()
  return env.operations.map((operation) => {
    const count = (counts.get(operation) ?? 0) + 1
    counts.set(operation, count)
    return [text, operation, count]
  })
}

const all = [
  ...(await operationsOf('call add:a')),
  ...(await operationsOf('call add:a ask:b')),
  ...(await operationsOf('call add:a open:b')),
]

/** Whether an operation comes before the run begins: the commit of its beginning is the last of these. */
const isBefore = (operation: string, count: number) =>
  ['leases.acquire', 'threads.get', 'threads.open', 'threads.messages'].includes(operation) ||
  (operation === 'threads.commit' && count === 1)

describe.each(all)('%s, with a store that fails at %s (%i)', (text, operation, count) => {
  const broken = () => {
    const env = fragile({ agent: obedient('Desk', TOOLS) })
    env.tap.now = (name, nth) => (name === operation && nth === count ? down() : undefined)
    return env
  }

  test('the run ends once, nothing is half written, and the thread can be used', async () => {
    const env = broken()
    const desk = env.runner()
    const how = await settled(desk.query(text, { ...session, runId: 'R1' }))
    expect(ends(env)).toBe(isBefore(operation, count) ? 0 : 1)
    expect(how).toBe(operation === 'leases.release' ? how : 'NOT_FOUND')
    expect(env.clock.pending).toBe(0)
    if (operation === 'leases.release') {
      expect(env.reports).toMatchObject([{ code: 'NOT_FOUND' }])
      env.clock.advance(30_000)
    }
    const thread = await env.store.threads.get(ANN)
    const awaiting = [...(thread?.openCalls ?? []), ...(thread?.checkpoint?.interrupts ?? [])]
    expect(
      unsound(
        await env.messages(),
        awaiting.map(({ callId }) => callId),
      ),
    ).toEqual([])
    if (operation !== 'leases.release') {
      expect(await checkpointOf(env)).toBeUndefined()
      expect(thread?.openCalls ?? []).toEqual([])
    }
    expect(await settled(env.runner({ pending: 'drop' }).query('next', session))).toMatch(/^heard .*next$/)
  })

  test('a reader sees it too', async () => {
    const env = broken()
    const types: string[] = []
    const read = async () => {
      for await (const { type } of env.runner().query(text, session)) types.push(type)
    }
    if (isBefore(operation, count)) {
      await expect(read()).rejects.toMatchObject({ code: 'NOT_FOUND' })
      expect(types).toEqual([])
      return
    }
    if (operation === 'leases.release') await read()
    else await expect(read()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(types.filter((type) => type === 'run-end')).toHaveLength(1)
    expect(types.at(-1)).toBe('run-end')
    expect(types.filter((type) => type === 'error')).toHaveLength(operation === 'leases.release' ? 0 : 1)
    if (operation === 'threads.commit') expect(types).not.toContain('action')
  })
})

test('a question that could not be stored, and so was not shown, does not block the thread', async () => {
  const env = fragile()
  env.tap.now = (operation, count) => (operation === 'threads.commit' && count === 2 ? down() : undefined)
  expect(await settled(env.runner().query('call ask:a', session))).toBe('NOT_FOUND')
  expect(await settled(env.runner().query('next', session))).toBe('heard call ask:a | next')
})

test('a run that ends with a question is two commits, its beginning and its end', async () => {
  const env = fragile()
  await env.runner().query('call ask:a', session)
  expect(env.operations.filter((operation) => operation === 'threads.commit')).toHaveLength(2)
})

test('the error that refused a run is reported even if its thread could not be released', async () => {
  const env = fragile()
  env.tap.now = (operation) => (operation === 'leases.release' ? down() : undefined)
  expect(await settled(env.runner().resume({ 'a#x': 1 }, session))).toBe('INTERRUPT_UNKNOWN')
})

test.each([1, 2])('a commit whose confirmation got lost leaves a sound thread: commit %i', async (lost) => {
  for (const text of ['call add:a', 'call add:a ask:b']) {
    const env = setup({}, (clock) => {
      const store = memoryStore({ clock })
      let commits = 0
      const commit: typeof store.threads.commit = async (...args) => {
        const thread = await store.threads.commit(...args)
        return ++commits === lost ? down() : thread
      }
      return { ...store, threads: { ...store.threads, commit } }
    })
    expect(await settled(env.runner().query(text, session))).toBe('NOT_FOUND')
    const { checkpoint } = (await env.store.threads.get(ANN)) ?? {}
    expect(
      unsound(
        await env.messages(),
        checkpoint?.interrupts.map(({ callId }) => callId),
      ),
    ).toEqual([])
    expect(await settled(env.runner({ pending: 'drop' }).query('next', session))).toMatch(/^heard .*next$/)
  }
})

test('an error of the store that is not a KernelError fails the run', async () => {
  const env = fragile()
  env.tap.now = (operation) => {
    if (operation === 'threads.commit') throw new TypeError('socket closed')
  }
  const error: unknown = await Promise.resolve(env.runner().query('hi', session)).catch((error: unknown) => error)
  expect(KernelError.is(error)).toBe(true)
  expect(error).toMatchObject({ message: 'socket closed' })
  expect((await env.store.threads.get(ANN))?.runId).toBeUndefined()
})
