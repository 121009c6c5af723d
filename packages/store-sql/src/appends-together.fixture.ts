import { type Json, KernelError, type Store } from '@troupe/kernel'
import { expect, it } from 'vitest'

const owner = { app: 'app', user: 'anna' }
const refOf = (n: number) => ({ ...owner, threadId: `t${n}` })
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => KernelError.from(error).code,
  )

/** The events of a log so far. */
async function logged(store: Store, n: number): Promise<readonly Json[]> {
  const { signal } = new AbortController()
  const batches = await Array.fromAsync(store.runLog.follow(refOf(n), 'run', { live: false, signal }))
  return batches.flat().map(({ event }) => event)
}

/** Begins the logs of some runs. */
export async function begun(store: Store, count: number): Promise<void> {
  for (const n of upTo(count)) {
    await store.threads.open(refOf(n))
    await store.runLog.append(refOf(n), 'run', 0, ['begin'])
  }
}

/** Appends to the logs of some runs at once, as those of one process do. */
export function appendAtOnce(store: Store, count: number): Promise<readonly number[]> {
  return Promise.all(upTo(count).map((n) => store.runLog.append(refOf(n), 'run', 1, [n, { n }])))
}

/** What holds of appends that a store writes in one transaction. */
export function appendsTogether(open: () => Store): void {
  it('writes what many runs say at once to the log of each', async () => {
    await using store = open()
    await begun(store, 50)
    expect(await appendAtOnce(store, 50)).toEqual(upTo(50).map(() => 3))
    for (const n of upTo(50)) expect(await logged(store, n)).toEqual(['begin', n, { n }])
  })

  it('refuses a conflict, a closed log and a deleted thread, and writes the others', async () => {
    await using store = open()
    await begun(store, 6)
    await store.runLog.append(refOf(1), 'run', 1, [], true)
    await store.threads.delete(refOf(2))
    const codes = await Promise.all([
      codeOf(store.runLog.append(refOf(0), 'run', 7, ['late'])),
      codeOf(store.runLog.append(refOf(1), 'run', 1, ['closed'])),
      codeOf(store.runLog.append(refOf(2), 'run', 1, ['deleted'])),
      codeOf(store.runLog.append(refOf(3), 'run', 1, ['said'])),
      codeOf(store.runLog.append({ ...refOf(4), user: 'bob' }, 'run', 1, ['foreign'])),
      codeOf(store.runLog.append(refOf(5), 'run', 1, ['end'], true)),
    ])
    expect(codes).toEqual(['VERSION_CONFLICT', 'VERSION_CONFLICT', 'NOT_FOUND', undefined, 'NOT_FOUND', undefined])
    expect([await logged(store, 0), await logged(store, 1)]).toEqual([['begin'], ['begin']])
    expect([await logged(store, 3), await logged(store, 5)]).toEqual([
      ['begin', 'said'],
      ['begin', 'end'],
    ])
    expect(await codeOf(store.runLog.append(refOf(5), 'run', 2, ['more']))).toBe('VERSION_CONFLICT')
    expect(await store.runLog.append(refOf(3), 'run', 2, [], true)).toBe(2)
  })

  it('writes two appends to one log in their order', async () => {
    await using store = open()
    await begun(store, 1)
    const { runLog } = store
    const all = [runLog.append(refOf(0), 'run', 1, ['a']), runLog.append(refOf(0), 'run', 2, ['b'], true)]
    expect(await Promise.all(all)).toEqual([2, 3])
    expect(await logged(store, 0)).toEqual(['begin', 'a', 'b'])
  })

  it('lets an event that the database cannot read fail no other', async () => {
    await using store = open()
    await begun(store, 3)
    const deep = JSON.parse(`${'['.repeat(2_000)}${']'.repeat(2_000)}`) as Json
    const appends = [deep, 'a', 'b'].map((event, n) => store.runLog.append(refOf(n), 'run', 1, [event]))
    expect(await Promise.all(appends)).toEqual([2, 2, 2])
    expect(JSON.stringify(await logged(store, 0))).toBe(JSON.stringify(['begin', deep]))
    expect([await logged(store, 1), await logged(store, 2)]).toEqual([
      ['begin', 'a'],
      ['begin', 'b'],
    ])
  })

  it('writes a huge append and small ones beside each other', async () => {
    await using store = open()
    await begun(store, 3)
    const huge = upTo(40).map((n) => `${n} ${'x'.repeat(100_000)}`)
    const order: string[] = []
    const noted = (name: string, work: Promise<number>) => work.then(() => order.push(name))
    await Promise.all([
      noted('huge', store.runLog.append(refOf(0), 'run', 1, huge, true)),
      noted('small', store.runLog.append(refOf(1), 'run', 1, ['a'])),
      noted('small', store.runLog.append(refOf(2), 'run', 1, ['b'])),
    ])
    expect(order.toSorted()).toEqual(['huge', 'small', 'small'])
    expect([await logged(store, 0), await logged(store, 1)]).toEqual([
      ['begin', ...huge],
      ['begin', 'a'],
    ])
  })

  it('keeps awkward characters of names and events', async () => {
    await using store = open()
    const ref = { app: 'a\0"', user: "o'\u0001x", threadId: '\ud800' }
    await store.threads.open(ref)
    await store.runLog.append(ref, '\0run', 0, ['begin'])
    expect(await store.runLog.append(ref, '\0run', 1, ['\0\ud800"\\', { '\0': 1e300 }])).toBe(3)
    const { signal } = new AbortController()
    const [batch] = await Array.fromAsync(store.runLog.follow(ref, '\0run', { after: 1, live: false, signal }))
    expect(batch?.map(({ event }) => event)).toEqual(['\0\ud800"\\', { '\0': 1e300 }])
  })

  it('writes what was asked for before the store is closed', async () => {
    const store = open()
    await begun(store, 2)
    const appended = appendAtOnce(store, 2)
    await store[Symbol.asyncDispose]()
    expect(await appended).toEqual([3, 3])
  })
}
