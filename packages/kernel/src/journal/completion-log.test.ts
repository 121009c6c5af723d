import { describe, expect, it, vi } from 'vitest'
import type { Json } from '../index.ts'
import type { CompletionLogOptions, JournalEntry } from '../journal.ts'
import { nextMacrotask } from '../kit.ts'
import { attempt, journalOf, MemoryJournal } from './journal.fixture.ts'

const never = () => new Promise<never>(() => undefined)
const refused = () => Promise.reject(new Error('must not be done again'))

/** Work that a test finishes by hand. */
function manual<T extends Json = string>() {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  return { work: vi.fn(() => promise), resolve, reject }
}

describe('a first attempt', () => {
  it('gives what the work gives, and records it by name', async () => {
    const { once, entries, batches } = new MemoryJournal()
    const log = attempt(once, { attempt: 3, openedBy: 3 })
    expect(await log.perform('r/model:0', async () => ({ text: 'Hi' }))).toEqual({ text: 'Hi' })
    expect(entries).toEqual([])
    expect(batches.map((batch) => JSON.parse(batch))).toEqual([[{ step: 'model:0', by: 3, value: { text: 'Hi' } }]])
  })

  it('does the work of several steps side by side, and records it in the order in which it finishes', async () => {
    const journal = new MemoryJournal()
    const log = attempt(journal.once)
    const [a, b] = [manual(), manual()]
    const settled: string[] = []
    const asked = [log.perform('r/a', a.work), log.perform('r/b', b.work)]
    for (const step of asked) void step.then((value) => settled.push(value))
    await nextMacrotask()
    expect([a.work.mock.calls.length, b.work.mock.calls.length]).toEqual([1, 1])
    b.resolve('second')
    await nextMacrotask()
    a.resolve('first')
    await Promise.all(asked)
    expect([journal.steps, settled]).toEqual([
      ['b', 'a'],
      ['second', 'first'],
    ])
  })

  it('records what finishes together in one batch', async () => {
    const journal = new MemoryJournal()
    const log = attempt(journal.once)
    const [a, b] = [manual(), manual()]
    const asked = [log.perform('r/a', a.work), log.perform('r/b', b.work)]
    await nextMacrotask()
    a.resolve('A')
    b.resolve('B')
    expect(await Promise.all(asked)).toEqual(['A', 'B'])
    expect(journal.batches).toHaveLength(1)
  })

  it('delivers nothing before it is recorded, and meanwhile goes on with other work', async () => {
    const written = Promise.withResolvers<void>()
    const journal = new MemoryJournal()
    const log = attempt(async (work) => {
      const entries = await journal.once(work)
      await written.promise
      return entries
    })
    const delivered = vi.fn()
    const a = log.perform('r/a', async () => 'A')
    void a.then(delivered)
    await nextMacrotask()
    expect(journal.steps).toEqual(['a'])
    const b = manual()
    void log.perform('r/b', b.work)
    await nextMacrotask()
    expect([delivered.mock.calls, b.work.mock.calls.length]).toEqual([[], 1])
    written.resolve()
    expect(await a).toBe('A')
  })

  it('does the work of a step once, even if it was asked for by the work of another one that begins with it', async () => {
    const journal = new MemoryJournal()
    const log = attempt(journal.once)
    const inner = vi.fn(async () => 'inner')
    expect(await log.perform('r/outer', async () => `outer of ${await log.perform('r/inner', inner)}`)).toBe(
      'outer of inner',
    )
    expect([inner.mock.calls.length, journal.steps]).toEqual([1, ['inner', 'outer']])
  })

  it('records each step once, even if it is asked for under the same name again', async () => {
    const journal = new MemoryJournal()
    const log = attempt(journal.once)
    expect(await log.perform('r/a', async () => 1)).toBe(1)
    expect(await Promise.all([log.perform('r/a', async () => 2), log.perform('r/a', async () => 3)])).toEqual([2, 3])
    expect(journal.steps).toEqual(['a', 'a~2', 'a~3'])
  })

  it('keeps the whole name of a step that is not of its run', async () => {
    const journal = new MemoryJournal()
    const log = attempt(journal.once)
    await log.perform('other/a', async () => 1)
    await log.perform('ready', async () => 2)
    await log.perform('r/a', async () => 3)
    expect(journal.steps).toEqual(['other/a', 'ready', 'a'])
  })

  it.each(['', undefined, 7])('refuses %o as the name of a step', async (name) => {
    const journal = new MemoryJournal()
    const work = vi.fn(async () => 1)
    await expect(attempt(journal.once).perform(name as string, work)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    })
    expect([work.mock.calls, journal.batches]).toEqual([[], []])
  })

  it('passes on `shown` of its host, and has none if the host has none', () => {
    const shown = () => []
    const { once } = new MemoryJournal()
    expect(attempt(once, { shown }).shown).toBe(shown)
    expect(attempt(once).shown).toBeUndefined()
  })
})

const rejecting: readonly [string, () => Promise<never>][] = [
  ['later', () => Promise.reject(new Error('no'))],
  [
    'before it returns a promise',
    () => {
      throw new Error('no')
    },
  ],
]

describe.each(rejecting)('work that rejects %s', (_, work) => {
  it('is not recorded, and is done again at the next attempt', async () => {
    const journal = new MemoryJournal()
    const log = attempt(journal.once)
    await expect(log.perform('r/a', work)).rejects.toThrow('no')
    expect(await log.perform('r/b', async () => 'B')).toBe('B')
    await expect(log.perform('r/c', work)).rejects.toThrow('no')
    expect(journal.steps).toEqual(['b'])
    await nextMacrotask()
    expect(journal.busy).toBe(false)

    const again = attempt(new MemoryJournal(journal.batches).once, { attempt: 2 })
    const b = again.perform('r/b', refused)
    expect(await again.perform('r/a', async () => 'A')).toBe('A')
    expect(await b).toBe('B')
    expect(await again.perform('r/c', async () => 'C')).toBe('C')
  })

  it.each(['at the end of the journal', 'later'])('does not disturb the work beside it, %s', async (when) => {
    const journal = new MemoryJournal()
    const log = attempt(journal.once)
    if (when === 'later') await log.perform('r/first', async () => 1)
    const b = manual()
    const asked = [log.perform('r/a', work), log.perform('r/b', b.work)]
    await expect(asked[0]).rejects.toThrow('no')
    b.resolve('B')
    expect(await asked[1]).toBe('B')
    expect(journal.steps.at(-1)).toBe('b')
  })
})

describe('a journal that fails', () => {
  it('rejects every step that waits, and those that finish later disturb nobody', async () => {
    const failure = new Error('the lease was lost')
    const log = attempt(async (work) => {
      await work()
      throw failure
    })
    const [a, b] = [manual(), manual()]
    const asked = [log.perform('r/a', a.work), log.perform('r/b', b.work)]
    await nextMacrotask()
    a.resolve('A')
    const outcomes = await Promise.allSettled(asked)
    expect(outcomes).toEqual([
      { status: 'rejected', reason: failure },
      { status: 'rejected', reason: failure },
    ])
    b.reject(new Error('stopped'))
    await nextMacrotask()
  })

  it('rejects what is asked for while it fails, and what is asked for afterwards', async () => {
    const log = attempt(() => Promise.reject(new Error('the store is gone')))
    await expect(log.perform('r/a', async () => 1)).rejects.toThrow('the store is gone')
    await expect(log.perform('r/b', async () => 1)).rejects.toThrow('the store is gone')
  })

  it('delivers a step only if it was recorded, also after a failure that passed', async () => {
    const journal = new MemoryJournal()
    let broken = true
    const log = attempt(async (work) => {
      if (!broken) return journal.once(work)
      await work()
      throw new Error('the store is away')
    })
    await expect(log.perform('r/a', async () => 'lost')).rejects.toThrow('the store is away')
    broken = false
    expect(await log.perform('r/b', async () => 'B')).toBe('B')
    expect(journal.steps).toEqual(['b'])
    await nextMacrotask()
    expect(journal.busy).toBe(false)
  })
})

describe('a later attempt', () => {
  const options = { attempt: 2 } satisfies Partial<CompletionLogOptions>

  it('gives each step its record in the recorded order, whatever the order in which they are asked for', async () => {
    const log = attempt(journalOf({ c: 'C', a: 'A', b: null }).once, options)
    const settled: Json[] = []
    const asked = ['a', 'b', 'c'].map((step) => log.perform(`r/${step}`, refused))
    for (const step of asked) void step.then((value) => settled.push(value))
    expect(await Promise.all(asked)).toEqual(['A', null, 'C'])
    expect(settled).toEqual(['C', 'A', null])
  })

  it('gives parallel branches their records, even if they wait longer between their steps than before', async () => {
    const log = attempt(journalOf({ 'x:1': 1, 'y:1': 2, 'x:2': 3, 'y:2': 4, 'x:3': 5 }).once, options)
    const branch = async (name: string, steps: number, wait: number) => {
      const values: Json[] = []
      for (let step = 1; step <= steps; step++) {
        values.push(await log.perform(`r/${name}:${step}`, refused))
        for (let turn = 0; turn < wait; turn++) await nextMacrotask()
      }
      return values
    }
    expect(await Promise.all([branch('x', 3, 5), branch('y', 2, 0)])).toEqual([
      [1, 3, 5],
      [2, 4],
    ])
  })

  it('lets whoever waits for one step of a batch ask for its next one before the other is delivered', async () => {
    const entries: JournalEntry[] = ['a', 'b', 'a2'].map((step) => ({ step, by: 1, value: step }))
    const log = attempt(new MemoryJournal([JSON.stringify(entries)]).once, options)
    const order: string[] = []
    const a = async () => {
      order.push(await log.perform('r/a', refused))
      for (let turn = 0; turn < 10; turn++) await Promise.resolve()
      order.push('a asks again')
      order.push(await log.perform('r/a2', refused))
    }
    const b = async () => void order.push(await log.perform('r/b', refused))
    await Promise.all([a(), b()])
    expect(order).toEqual(['a', 'a asks again', 'b', 'a2'])
  })

  it('keeps a record until its step is asked for', async () => {
    const log = attempt(journalOf({ early: null, a: 'A' }).once, options)
    expect(await log.perform('r/a', refused)).toBe('A')
    expect(await log.perform('r/early', refused)).toBeNull()
  })

  it('does no work before the end of the journal, and then the work of every step that has no record', async () => {
    const journal = journalOf({ a: 'A', b: 'B' })
    const log = attempt(journal.once, options)
    const [x, y] = [vi.fn(async () => 'X'), vi.fn(async () => 'Y')]
    const asked = [log.perform('r/x', x), log.perform('r/y', y), log.perform('r/b', refused)]
    await asked[2]
    expect([x.mock.calls, y.mock.calls]).toEqual([[], []])
    expect(await Promise.all(asked)).toEqual(['X', 'Y', 'B'])
    expect(await log.perform('r/a', refused)).toBe('A')
    expect(journal.entries.slice(2).map(({ step, by }) => [step, by])).toEqual([
      ['x', 2],
      ['y', 2],
    ])
  })

  it('gives a step that is asked for again its own record', async () => {
    const log = attempt(journalOf({ a: 1, 'a~2': 2 }).once, options)
    expect(await log.perform('r/a', refused)).toBe(1)
    expect(await log.perform('r/a', refused)).toBe(2)
    expect(await log.perform('r/a', async () => 3)).toBe(3)
  })

  it('takes the records of another run id, because the names on it are without it', async () => {
    const log = attempt(journalOf({ 'model:0': 'Hi' }).once, { ...options, runId: 'another' })
    expect(await log.perform('another/model:0', refused)).toBe('Hi')
  })

  it('passes over a batch without entries', async () => {
    const log = attempt(new MemoryJournal(['[]', '[{"step":"a","by":1,"value":"A"}]', '[]']).once, options)
    expect(await log.perform('r/a', refused)).toBe('A')
    expect(await log.perform('r/b', async () => 'B')).toBe('B')
  })
})

describe('a call that must not happen twice', () => {
  const lost = async () => 'unknown'
  const done = async () => 'done'
  const call = (journal: MemoryJournal, name: string, options: Partial<CompletionLogOptions>) =>
    attempt(journal.once, options).perform(`r/${name}`, done, lost)

  it('is made by an attempt that called the model which asked for it', async () => {
    const log = attempt(new MemoryJournal().once, { attempt: 2 })
    await log.perform('r/model:0', done)
    expect(await log.perform('r/tool:0:0', done, lost)).toBe('done')
    expect(await log.perform('r/tool:0:12', done, lost)).toBe('done')
  })

  it('is made even if an earlier attempt called the model for another turn', async () => {
    const log = attempt(journalOf({ 'model:0': '' }).once, { attempt: 2 })
    await log.perform('r/model:0', refused)
    await log.perform('r/model:1', done)
    expect(await log.perform('r/tool:1:0', done, lost)).toBe('done')
  })

  it('is lost if an earlier attempt recorded the model call that asked for it', async () => {
    const journal = journalOf({ 'model:0': '', 'tool:0:0': 'recorded', 'model:1': '' })
    const log = attempt(journal.once, { attempt: 2, openedBy: 2 })
    await Promise.all(['model:0', 'model:1'].map((step) => log.perform(`r/${step}`, refused)))
    expect(await log.perform('r/tool:0:0', refused, lost)).toBe('recorded')
    expect(await log.perform('r/tool:1:0', refused, lost)).toBe('unknown')
    expect(journal.entries.at(-1)).toEqual({ step: 'tool:1:0', by: 2, value: 'unknown' })
  })

  it('is made if this attempt recorded the model call that asked for it, though another of that name was asked before', async () => {
    const log = attempt(journalOf({ 'model:0': '', 'tool:0:0': 'recorded' }).once, { attempt: 2, openedBy: 1 })
    await log.perform('r/model:0', refused)
    await log.perform('r/tool:0:0', refused, lost)
    await log.perform('r/model:0', async () => 'asks again')
    expect(await log.perform('r/tool:0:0', done, lost)).toBe('done')
  })

  it('is made if it cannot be lost', async () => {
    const log = attempt(journalOf({ 'model:0': '' }).once, { attempt: 2 })
    await log.perform('r/model:0', refused)
    expect(await log.perform('r/tool:0:0', done)).toBe('done')
  })

  it.each([
    ['made by the attempt that opened the run with it', { attempt: 1, openedBy: 1 }, 'done'],
    ['made by a later attempt if that one opened the run', { attempt: 3, openedBy: 3 }, 'done'],
    ['lost to any attempt after that', { attempt: 2, openedBy: 1 }, 'unknown'],
  ])('is, after a resume, %s', async (_, options, outcome) => {
    expect(await call(new MemoryJournal(), 'tool:4:0', options)).toBe(outcome)
  })

  it.each([
    ['tool:0:0/model:1', 'tool:0:0/tool:1:0'],
    ['agent:1/model:1', 'agent:1/tool:1:3'],
    ['tool:2:0.2/tool:0:1/model:0', 'tool:2:0.2/tool:0:1/tool:0:0'],
  ])('inside another run or agent depends on the model call of that one, %s', async (asker, name) => {
    const outcome = async (by: number) => {
      // The model call of the same number in the outer run was another attempt's.
      const outer = [1, 0].map((turn) => ({ step: `model:${turn}`, by: 3 - by, value: '' }))
      const journal = new MemoryJournal([JSON.stringify([{ step: asker, by, value: '' }, ...outer])])
      const log = attempt(journal.once, { attempt: 2, openedBy: by })
      await log.perform(`r/${asker}`, refused)
      return log.perform(`r/${name}`, done, lost)
    }
    expect([await outcome(2), await outcome(1)]).toEqual(['done', 'unknown'])
  })

  it('may give its loss later', async () => {
    const log = attempt(new MemoryJournal().once, { attempt: 2 })
    const asked = Promise.withResolvers<string>()
    const step = log.perform('r/tool:0:0', never, () => asked.promise)
    asked.resolve('a person was asked')
    expect(await step).toBe('a person was asked')
  })

  it('passes on the error of a loss', async () => {
    const log = attempt(new MemoryJournal().once, { attempt: 2 })
    const step = log.perform('r/tool:0:0', never, () => {
      throw new Error('unknown')
    })
    await expect(step).rejects.toThrow('unknown')
  })
})
