import { EventType } from '@ag-ui/core'
import { KernelError, type Store, say } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { ANN, agentOf, calm, echo, request, type Stage, stage, user } from '../agent/agent.fixture.ts'
import { type AgUiHandler, agUiHandler } from './ag-ui-handler.ts'
import { framesOf, get, parseFrames, post } from './http.fixture.ts'

const SECRET = 'postgres://user:password@host'
const PORTS = ['threads', 'leases', 'journal', 'runLog'] as const

/** Makes operations of a store fail. Contract: `broken` says with which code, if at all. */
function breakable(store: Store, broken: (operation: string) => string | undefined): void {
  for (const port of PORTS) {
    const wrapped = Object.fromEntries(
      Object.entries(store[port]).map(([name, method]) => [
        name,
        (...args: readonly unknown[]) => {
          const code = broken(`${port}.${name}`)
          const retryable = code !== 'STORE_READ_ONLY'
          const error = code === undefined ? undefined : new KernelError(code, SECRET, { retryable })
          if (error && name === 'follow') throw error
          return error ? Promise.reject(error) : Reflect.apply(method as () => unknown, store[port], args)
        },
      ]),
    )
    Object.assign(store[port], wrapped)
  }
}

function serving(given: Stage): AgUiHandler {
  const { agent, store, clock } = given
  return agUiHandler({ agent, store, owner: ANN, clock, report: (error) => void given.reports.push(error) })
}

/** Lets time pass in steps until the work is done. */
async function during<T>({ clock }: Stage, work: Promise<T>, steps = 200): Promise<T> {
  let done = false
  const settled = work.finally(() => {
    done = true
  })
  for (let i = 0; i < steps && !done; i++) {
    await calm()
    clock.advance(500)
  }
  return settled
}

test.each(['STORE_UNAVAILABLE', 'STORE_BUSY', 'STORE_FULL', 'STORE_READ_ONLY'])(
  'a request while the store fails with %s is a 503 with its code and retry-after, at every operation',
  async (code) => {
    const seen: string[] = []
    const first = stage(echo)
    breakable(first.store, (operation) => void seen.push(operation))
    await framesOf(await serving(first)(post(request({ protocolVersion: '1.0', messages: [user('a')] }))))
    const before = seen.slice(0, seen.indexOf('runLog.append'))
    expect(before.length).toBeGreaterThan(3)
    for (const failing of new Set(before)) {
      const world = stage(echo)
      breakable(world.store, (operation) => (operation === failing ? code : undefined))
      const response = await during(world, serving(world)(post(request({ messages: [user('a')] }))))
      expect([failing, response.status, response.headers.get('retry-after')]).toEqual([failing, 503, '1'])
      const body = await response.text()
      expect(JSON.parse(body)).toMatchObject({ code })
      expect(body).not.toContain(SECRET)
      expect(world.reports).toMatchObject([{ code, cause: { message: SECRET } }])
      expect(world.agent.activeExecutions).toBe(0)
    }
  },
)

test('reads while the store is unavailable are a 503 too', async () => {
  const world = stage(echo)
  const handler = serving(world)
  await framesOf(await handler(post(request({ runId: 'r1', protocolVersion: '1.0', messages: [user('a')] }))))
  breakable(world.store, () => 'STORE_UNAVAILABLE')
  for (const path of ['/threads', '/threads/t1', '/threads/t1/messages', '/threads/t1/runs/r1']) {
    const response = await handler(get(path))
    expect([path, response.status, response.headers.get('retry-after')]).toEqual([path, 503, '1'])
    expect(await response.json()).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  }
})

/** Says one word, then waits for a signal of the test, then says more. */
function inTwoParts() {
  const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const agent = agentOf(async function* (_, ctx) {
    yield* say(ctx, 'one')
    begun.resolve()
    await goOn.promise
    for (let i = 0; i < 20; i++) yield* say(ctx, `two ${i}`)
  })
  return { world: stage(agent), begun: begun.promise, goOn: goOn.resolve }
}

test.each([
  ['STORE_FULL', 'all writes'],
  ['STORE_READ_ONLY', 'all writes'],
  ['STORE_FULL', 'its log'],
])('a run whose store fails with %s from its middle on (%s) gives its reader one terminal', async (code, what) => {
  const { world, begun, goOn } = inTwoParts()
  const handler = serving(world)
  let broken = false
  const isWrite = /append|commit|open|acquire|renew|release/
  breakable(world.store, (operation) =>
    broken && (what === 'its log' ? operation === 'runLog.append' : isWrite.test(operation)) ? code : undefined,
  )
  const response = await handler(post(request({ runId: 'r1', protocolVersion: '1.0', messages: [user('a')] })))
  const reading = response.text().then(parseFrames)
  await begun
  await calm()
  broken = true
  goOn()
  const frames = await during(world, reading)
  const endsOf = (all: typeof frames) =>
    all.filter(({ event }) => event.type === EventType.RUN_ERROR || event.type === EventType.RUN_FINISHED)
  const ends = endsOf(frames)
  expect(ends.map(({ event }) => event)).toMatchObject([{ type: 'RUN_ERROR', code: 'RUN_LOG_FAILED' }])
  expect(frames.at(-1)).toEqual(ends[0])
  await during(world, calm())
  // A reader that comes later, also after the lease has expired.
  const later = await handler(get('/threads/t1/runs/r1?protocolVersion=1.0'))
  const again = await during(world, later.text().then(parseFrames))
  expect(endsOf(again)).toEqual([again.at(-1)])
  expect(world.agent.activeExecutions).toBe(0)
})

test('an outage of twenty seconds in the middle of a run is a pause for its reader', async () => {
  const { world, begun, goOn } = inTwoParts()
  let broken = false
  breakable(world.store, (operation) => (broken && operation === 'runLog.append' ? 'STORE_UNAVAILABLE' : undefined))
  const response = await serving(world)(post(request({ runId: 'r1', protocolVersion: '1.0', messages: [user('a')] })))
  const reading = framesOf(response)
  await begun
  await calm()
  broken = true
  goOn()
  for (let i = 0; i < 40; i++) {
    await calm()
    world.clock.advance(500)
  }
  broken = false
  const frames = await during(world, reading)
  expect(frames.at(-1)?.event).toMatchObject({ type: 'RUN_FINISHED' })
  expect(world.reports).toEqual([])
})
