import type { Fact, FactStore, Store } from '@troupe/kernel'
import type { StoreMutant } from './store-mutant.fixture.ts'

/** A store that is wrong about facts. */
function noting(change: (facts: FactStore) => Partial<FactStore>): StoreMutant['ports'] {
  return ({ facts }: Store) => (facts ? { facts: { ...facts, ...change(facts) } } : {})
}

/** Stores that are wrong about facts. */
export const factMutants: readonly StoreMutant[] = [
  {
    wrong: 'all owners share their facts',
    caught: [
      'facts of another owner are neither seen, found nor forgotten',
      'all facts of an owner are forgotten at once, and those of no other',
    ],
    ports: noting((facts) => {
      const all = { app: 'app', user: 'all' }
      return {
        add: (_, fact) => facts.add(all, fact),
        list: (_, page) => facts.list(all, page),
        search: (_, query) => facts.search(all, query),
        near: (_, query) => facts.near(all, query),
        forget: (_, seqs) => facts.forget(all, seqs),
      }
    }),
  },
  {
    wrong: 'a forgotten fact is still found',
    caught: ['a forgotten fact is gone from lists and searches, and its place is not given again'],
    ports: noting((facts) => {
      const forgotten: Fact[] = []
      return {
        async forget(owner, seqs) {
          forgotten.push(...(await facts.list(owner)).filter(({ seq }) => seqs === 'all' || seqs.includes(seq)))
          return facts.forget(owner, seqs)
        },
        search: async (owner, query) => [...(await facts.search(owner, query)), ...forgotten],
      }
    }),
  },
  {
    wrong: 'a search finds only the text as it is',
    caught: ['facts are found by their words, the best first'],
    ports: noting((facts) => ({
      search: async (owner, { text, limit }) =>
        (await facts.list(owner)).filter((fact) => fact.text.includes(text)).slice(0, limit),
    })),
  },
  {
    wrong: 'what is found comes in the order in which it was noted',
    caught: ['facts are found by their words, the best first'],
    ports: noting((facts) => ({
      search: async (owner, query) =>
        (await facts.search(owner, { ...query, limit: 1000 })).toSorted((a, b) => a.seq - b.seq).slice(0, query.limit),
    })),
  },
  {
    wrong: 'a search looks for the first words alone',
    caught: ['a search looks for the first and the last words of a long text'],
    ports: noting((facts) => ({
      search: (owner, { text, limit }) => facts.search(owner, { text: text.split(' ').slice(0, 64).join(' '), limit }),
    })),
  },
  {
    wrong: 'a search looks for every word of a long text',
    caught: ['a search looks for the first and the last words of a long text'],
    ports: noting((facts) => ({
      async search(owner, { text, limit }) {
        const found = new Map<number, Fact>()
        for (const word of new Set(text.split(' '))) {
          for (const fact of await facts.search(owner, { text: word, limit })) found.set(fact.seq, fact)
        }
        return [...found.values()]
      },
    })),
  },
  {
    wrong: 'a text is kept twice',
    caught: ['a text is kept once, also if it comes twice at the same time'],
    ports: noting((facts) => {
      let copies = 0
      const shown = (fact: Fact) => ({ ...fact, text: fact.text.replace(/\u200b+$/, '') })
      return {
        add: async (owner, fact) =>
          shown(await facts.add(owner, { ...fact, text: `${fact.text}${'\u200b'.repeat(++copies)}` })),
        list: async (owner, page) => (await facts.list(owner, page)).map(shown),
      }
    }),
  },
  {
    wrong: 'an owner keeps all facts',
    caught: ['an owner keeps the newest thousand facts'],
    ports: noting((facts) => {
      const lost: Fact[] = []
      return {
        async add(owner, fact) {
          if (owner.user === 'anna' && lost.length < 2)
            lost.push({ seq: lost.length + 1, text: fact.text, at: fact.at })
          return facts.add(owner, fact)
        },
        search: async (owner, query) => [
          ...(await facts.search(owner, query)),
          ...lost.filter(({ text }) => text.startsWith(query.text)),
        ],
      }
    }),
  },
  {
    wrong: 'embeddings are compared by their length',
    caught: ['facts are found by their embeddings, the nearest first'],
    ports: noting((facts) => ({
      near: async (owner, query) => (await facts.near(owner, query)).toReversed(),
    })),
  },
]
