import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { check } from '../clause.ts'
import { broken, expectBroken } from '../suite/broken.fixture.ts'
import { attemptMutants } from './attempt-mutants.fixture.ts'
import { blobMutants } from './blob-mutants.fixture.ts'
import { counterMutants } from './counter-mutants.fixture.ts'
import { cutMutants } from './cut-mutants.fixture.ts'
import { factMutants } from './fact-mutants.fixture.ts'
import { forkMutants } from './fork-mutants.fixture.ts'
import { forkStateMutants } from './fork-state-mutants.fixture.ts'
import { grantMutants } from './grant-mutants.fixture.ts'
import { instanceMutants } from './instance-mutants.fixture.ts'
import { journalAppendMutants } from './journal-append-mutants.fixture.ts'
import { journalMutants } from './journal-mutants.fixture.ts'
import { knownMutants } from './known-mutants.fixture.ts'
import { labelMutants } from './label-mutants.fixture.ts'
import { leaseMutants } from './lease-mutants.fixture.ts'
import { listMutants } from './list-mutants.fixture.ts'
import { lostRunMutants } from './lost-run-mutants.fixture.ts'
import { malformedMutants } from './malformed-mutants.fixture.ts'
import { recordMutants } from './record-mutants.fixture.ts'
import { releaseMutants } from './release-mutants.fixture.ts'
import { retentionMutants } from './retention-mutants.fixture.ts'
import { runLogMutants } from './run-log-mutants.fixture.ts'
import { runLogUpkeepMutants } from './run-log-upkeep-mutants.fixture.ts'
import { sharedMemory } from './shared-memory.fixture.ts'
import { type StoreFactory, storeClauses, testStore } from './test-store.ts'
import { threadMutants } from './thread-mutants.fixture.ts'

const sound: StoreFactory = (clock) => ({ store: memoryStore({ clock }), keeps: 'nothing' })
const shared: StoreFactory = (clock) => {
  const open = sharedMemory(clock)
  return { store: open(), keeps: 'for-many-instances', reopen: open }
}

testStore('memoryStore', sound)
testStore('stores that share their data', shared)

describe('testStore', () => {
  it('has clauses with names of their own, which a sound store keeps', async () => {
    const clauses = storeClauses(shared)
    expect(new Set(clauses.map(({ name }) => name)).size).toBe(clauses.length)
    expect(await broken(clauses)).toEqual([])
  })

  it.each<[string, StoreFactory, string]>([
    ['says so', sound, 'the factory says that the store keeps nothing'],
    ['is given bare', (clock) => memoryStore({ clock }), "the factory gave a bare store; give { store, keeps: '"],
  ])('passes over what a store that %s is not tested for, and says why', async (_, open, why) => {
    const clauses = storeClauses(open)
    expect(await broken(clauses)).toEqual([])
    const passedOver = await Promise.all(clauses.map((clause) => check(clause, 3_000)))
    const names = clauses.filter((_, i) => passedOver[i]?.startsWith(why)).map(({ name }) => name)
    expect(names.every((name) => /^(two instances|closed and opened again|while it is open)/.test(name))).toBe(true)
    expect(names).toHaveLength(21)
  })

  it('passes over the ports that a store may leave out, and demands whole ones', async () => {
    const without: StoreFactory = (clock) => {
      const { blobs: _1, counters: _2, facts: _3, ...bare } = memoryStore({ clock })
      return bare
    }
    const clauses = storeClauses(without)
    expect(await broken(clauses)).toEqual([])
    const passedOver = await Promise.all(clauses.map((clause) => check(clause, 3_000)))
    const why = passedOver.filter((reason) => reason?.startsWith('the store has no '))
    expect(new Set(why.map((reason) => /no (\w+),/.exec(reason ?? '')?.[1]))).toEqual(
      new Set(['blobs', 'counters', 'facts']),
    )
    const [whole] = storeClauses(() => {
      const { blobs, counters, ...store } = memoryStore()
      return { ...store, blobs: { get: blobs.get } as never, counters: { prune: counters.prune } as never }
    })
    await expect(whole?.run()).rejects.toThrow('The store lacks blobs.put(), counters.add()')
  })

  it('disposes the store of a clause that fails', async () => {
    let disposed = 0
    const failing: StoreFactory = (clock) => ({
      ...memoryStore({ clock }),
      threads: undefined as never,
      [Symbol.asyncDispose]: async () => void disposed++,
    })
    const [clause] = storeClauses(failing)
    await expect(clause?.run()).rejects.toThrow()
    expect(disposed).toBe(1)
  })

  it('tells the last calls, what was expected and what came, and what to do', async () => {
    const clauses = storeClauses((clock) => {
      const { leases, ...store } = memoryStore({ clock })
      return { ...store, leases: { ...leases, acquire: async () => ({ token: 1 }) } }
    })
    const name = 'the holder itself cannot take its lease twice'
    const shown = await expectBroken(
      clauses.filter((clause) => clause.name === name),
      [name],
    )
    expect(shown.get(name)?.split('\n')).toEqual([
      'This does not hold: the holder itself cannot take its lease twice. Expected "THREAD_BUSY", got undefined.',
      'The last calls:',
      expect.stringMatching(/^ {2}threads\.open\("app\/anna\/thread-1"\) gave \{"ref":/),
      '  leases.acquire("app/anna/thread-1", {"runId":"run-1","ttlMs":30000}) gave {"token":1}',
      '  leases.acquire("app/anna/thread-1", {"runId":"run-1","ttlMs":30000}) gave {"token":1}',
      expect.stringMatching(/^What to do: Take a lease in one step: if one is held/),
    ])
  })

  const mutants = [
    ...threadMutants,
    ...releaseMutants,
    ...forkMutants,
    ...cutMutants,
    ...forkStateMutants,
    ...grantMutants,
    ...counterMutants,
    ...factMutants,
    ...blobMutants,
    ...recordMutants,
    ...runLogMutants,
    ...runLogUpkeepMutants,
    ...retentionMutants,
    ...journalMutants,
    ...journalAppendMutants,
    ...lostRunMutants,
    ...attemptMutants,
    ...leaseMutants,
    ...listMutants,
    ...knownMutants,
    ...labelMutants,
    ...malformedMutants,
  ]
  for (const { wrong, caught, ports } of mutants) {
    it(`notices that ${wrong}`, async () => {
      const clauses = storeClauses((clock) => {
        const store = memoryStore({ clock })
        return { ...store, ...ports(store, clock) }
      })
      await expectBroken(
        clauses.filter(({ name }) => caught.includes(name)),
        caught,
        3_000,
      )
    })
  }

  for (const { wrong, caught, open } of instanceMutants) {
    it(`notices that ${wrong}`, async () => {
      const clauses = storeClauses(open)
      await expectBroken(
        clauses.filter(({ name }) => caught.includes(name)),
        caught,
      )
    })
  }
})
