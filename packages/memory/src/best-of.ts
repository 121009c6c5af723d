import type { Fact } from '@troupe/kernel'

/** How much the first places of a list count more than later ones. */
const SMOOTHING = 60

/** The best facts of several lists, each the best first (reciprocal rank fusion). Contract: a fact that several lists have comes before one that is as high in one alone. */
export function bestOf(lists: readonly (readonly Fact[])[], limit: number): readonly Fact[] {
  const scores = new Map<number, { readonly fact: Fact; score: number }>()
  for (const list of lists) {
    for (const [rank, fact] of list.entries()) {
      const known = scores.get(fact.seq)
      const score = 1 / (SMOOTHING + rank)
      if (known) known.score += score
      else scores.set(fact.seq, { fact, score })
    }
  }
  return [...scores.values()]
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ fact }) => fact)
}
