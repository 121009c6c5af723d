import type { Fact, FactStore, Owner } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, ben, hold, upTo } from './store-samples.ts'

async function note(facts: FactStore | undefined, owner: Owner, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) await facts?.add(owner, { text, at: 1 })
}

async function found(facts: FactStore | undefined, owner: Owner, text: string, limit = 10) {
  return textsOf(await facts?.search(owner, { text, limit }))
}

function textsOf(facts: readonly Fact[] | undefined): readonly string[] | undefined {
  return facts?.map(({ text }) => text)
}

/** What is remembered about owners. */
export const factClauses: StoreClauses = {
  ...advised('Give each fact the next sequence of its owner, also after others were forgotten, and list by it.', {
    'facts are listed as they were given, page by page': async ({ store: { facts }, ref }) => {
      const given = [
        { text: AWKWARD, at: 1.5 },
        { text: 'Likes tea.', at: 2 },
        { text: 'Likes milk.', at: 3 },
      ]
      const added = []
      for (const fact of given) added.push(await facts?.add(ref, fact))
      expect(added).toEqual(given.map((fact, i) => ({ seq: i + 1, ...fact })))
      expect(await facts?.list(ref)).toEqual(added)
      expect(await facts?.list(ref, { limit: 1, after: 1 })).toEqual([added[1]])
      expect(await facts?.list(ref, { limit: 2, newestFirst: true })).toEqual([added[2], added[1]])
    },
    'facts that come at once get places of their own': async ({ store: { facts }, ref }) => {
      const added = await Promise.all(upTo(10).map((n) => facts?.add(ref, { text: `fact ${n}`, at: n })))
      expect(added.map((fact) => fact?.seq).sort((a = 0, b = 0) => a - b)).toEqual(upTo(10))
    },
    'a text is kept once, also if it comes twice at the same time': async ({ store: { facts }, ref }) => {
      const twice = [AWKWARD, 'Likes tea.', AWKWARD, 'Likes tea.'].map((text, at) => ({ text, at, embedding: [1] }))
      const added = await Promise.all(twice.map((fact) => facts?.add(ref, fact)))
      expect(await facts?.list(ref)).toHaveLength(2)
      expect([added[2], added[3]]).toEqual([added[0], added[1]])
      const [first] = (await facts?.list(ref)) ?? []
      expect(await facts?.add(ref, { text: first?.text ?? '', at: 9 })).toEqual(first)
      expect((await facts?.add(ref, { text: 'Likes milk.', at: 9 }))?.seq).toBe(3)
      await facts?.forget(ref, [1, 2])
      expect((await facts?.add(ref, { text: 'Likes tea.', at: 9 }))?.seq).toBe(4)
      expect((await facts?.add(ben(), { text: 'Likes tea.', at: 9 }))?.seq).toBe(1)
    },
    'a forgotten fact is gone from lists and searches, and its place is not given again': async ({
      store: { facts },
      ref,
    }) => {
      await note(facts, ref, 'Has a dog.', 'Has a cat.', 'Has a fish.')
      for (const text of ['dog', 'cat']) await facts?.add(ref, { text, at: 2, embedding: [1, 0] })
      expect(await facts?.forget(ref, [1, 3, 5, 5, 77, -1])).toBe(3)
      expect(await facts?.forget(ref, [1, 3, 5])).toBe(0)
      expect(await facts?.forget(ref, [])).toBe(0)
      expect(textsOf(await facts?.list(ref))).toEqual(['Has a cat.', 'dog'])
      expect(await found(facts, ref, 'dog cat fish has')).toEqual(['Has a cat.', 'dog'])
      expect(textsOf(await facts?.near(ref, { embedding: [1, 0], limit: 5 }))).toEqual(['dog'])
      expect((await facts?.add(ref, { text: 'Has a bird.', at: 3 }))?.seq).toBe(6)
    },
    'all facts of an owner are forgotten at once, and those of no other': async ({ store: { facts }, ref }) => {
      await note(facts, ref, 'one', 'two')
      await note(facts, ben(), 'one')
      expect(await facts?.forget(ref, 'all')).toBe(2)
      expect(await facts?.forget(ref, 'all')).toBe(0)
      expect(await facts?.list(ref)).toEqual([])
      expect(await found(facts, ref, 'one two')).toEqual([])
      expect(await found(facts, ben(), 'one')).toEqual(['one'])
      expect((await facts?.add(ref, { text: 'three', at: 1 }))?.seq).toBe(3)
    },
    'an owner keeps the newest thousand facts': async ({ store: { facts }, ref }) => {
      await note(facts, ben(), 'fact of ben')
      await note(facts, ref, ...upTo(1002).map((n) => (n < 4 ? `early ${n}` : `fact ${n}`)))
      const all = (await facts?.list(ref, { limit: 1000 })) ?? []
      expect([all.length, all[0]?.text, all.at(-1)?.seq]).toEqual([1000, 'early 3', 1002])
      expect(await found(facts, ref, 'early')).toEqual(['early 3'])
      expect(await facts?.list(ben())).toHaveLength(1)
    },
  }),
  ...advised(
    'Find every fact of the owner that has one of the `searchTerms` of the text among its `factTerms`, order them with `rankFacts`, all of @troupe/kernel/store, and put the owner into the index or the query.',
    {
      'facts are found by their words, the best first': async ({ store: { facts }, ref }) => {
        await note(
          facts,
          ref,
          'Has a green car.',
          'Likes green tea.',
          'Zoë is her sister.',
          '喜欢喝绿茶',
          'Lives in Rome',
        )
        expect(await found(facts, ref, 'Which green teas does she like?')).toEqual([
          'Likes green tea.',
          'Has a green car.',
        ])
        expect(await found(facts, ref, 'ZOE')).toEqual(['Zoë is her sister.'])
        expect(await found(facts, ref, '绿茶')).toEqual(['喜欢喝绿茶'])
        expect(await found(facts, ref, 'paris')).toEqual([])
        expect(await found(facts, ref, ' …!? ')).toEqual([])
        expect(await found(facts, ref, 'green', 1)).toEqual(['Likes green tea.'])
      },
      'a search reads its text as words, whatever is in it': async ({ store: { facts }, ref }) => {
        await note(facts, ref, 'a OR b', "it's 'quoted' \"twice\"", 'x & y | !z:*', AWKWARD, 'NEAR(a b)')
        for (const text of ['"', "'", 'a" OR b', "twice' | '", '*', ':* & |', '(a', '\\', AWKWARD, 'terms: a', '1x']) {
          expect(Array.isArray(await facts?.search(ref, { text, limit: 5 })), text).toBe(true)
        }
        expect(await found(facts, ref, 'quoted')).toHaveLength(1)
        expect(await found(facts, ref, 'OR')).toEqual(['a OR b'])
      },
      'a search looks for the first and the last words of a long text': async ({ store: { facts }, ref }) => {
        await note(facts, ref, 'Likes tea.', 'Has a dog.', 'Plays chess.')
        const filler = (from: number) =>
          upTo(40)
            .map((n) => `word${from + n}`)
            .join(' ')
        const pasted = `tea ${filler(0)} chess ${filler(100)} ${'again '.repeat(3000)} dog`
        expect((await found(facts, ref, pasted))?.toSorted()).toEqual(['Has a dog.', 'Likes tea.'])
      },
      'facts of another owner are neither seen, found nor forgotten': async ({ store: { facts }, ref }) => {
        await facts?.add(ref, { text: 'Likes tea.', at: 1, embedding: [1, 0] })
        for (const foreign of [ben(), { ...ref, app: 'other' }]) {
          expect(await facts?.list(foreign)).toEqual([])
          expect(await found(facts, foreign, 'likes tea')).toEqual([])
          expect(await facts?.near(foreign, { embedding: [1, 0], limit: 5 })).toEqual([])
          expect(await facts?.forget(foreign, [1])).toBe(0)
          expect(await facts?.forget(foreign, 'all')).toBe(0)
          expect((await facts?.add(foreign, { text: 'Likes milk.', at: 1 }))?.seq).toBe(1)
          expect(await found(facts, foreign, 'likes')).toEqual(['Likes milk.'])
        }
        expect(await found(facts, ref, 'likes')).toEqual(['Likes tea.'])
      },
      'what others have noted changes no order': async ({ store: { facts }, ref }) => {
        const own = ['red car', 'red red bus', 'blue car', 'one long text about a red car and a blue bus']
        await note(facts, ref, ...own)
        const alone = await found(facts, ref, 'red car')
        await note(facts, ben(), ...upTo(30).map((n) => `red ${'car '.repeat(n)}`))
        expect(await found(facts, ref, 'red car')).toEqual(alone)
      },
      'facts belong to no thread': async ({ store, ref }) => {
        await hold(store, ref)
        await note(store.facts, ref, 'Likes tea.')
        await store.threads.delete(ref)
        expect(await found(store.facts, anna('t2'), 'tea')).toEqual(['Likes tea.'])
      },
    },
  ),
  ...advised('Keep embeddings as floats of at least four bytes, and order by angle with `nearestFacts`.', {
    'facts are found by their embeddings, the nearest first': async ({ store: { facts }, ref }) => {
      const given: readonly (readonly [string, readonly number[] | undefined])[] = [
        ['east', [1, 0, 0]],
        ['north', [0, 2, 0]],
        ['between', [0.5, 0.25, 0]],
        ['elsewhere', [1, 0]],
        ['nowhere', undefined],
      ]
      for (const [text, embedding] of given) await facts?.add(ref, { text, at: 1, ...(embedding && { embedding }) })
      const near = async (embedding: readonly number[], limit = 5) =>
        textsOf(await facts?.near(ref, { embedding, limit }))
      expect(await near([3, 0, 0])).toEqual(['east', 'between', 'north'])
      expect(await near([0, 0.1, 0], 2)).toEqual(['north', 'between'])
      expect(await near([1, 1, 1, 1])).toEqual([])
    },
  }),
}
