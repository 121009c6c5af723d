import type { Fact } from './fact-store.ts'
import { factTerms, searchTerms } from './fact-terms.ts'

/** How much a word that comes often counts more, and how much a long text counts less. */
const SATURATION = 1.2
const LENGTH = 0.75

/**
 * Orders facts by how well they fit a text (BM25), the best first and of equals the newest; those that share no word with it, as `searchTerms` reads it, are left out.
 * Contract: depends only on the facts that are given and share a word with it, so a store may give those alone, all of one owner.
 */
export function rankFacts(text: string, facts: readonly Fact[], limit: number): readonly Fact[] {
  const wanted = new Set(searchTerms(text))
  const found = facts.flatMap((fact) => {
    const terms = factTerms(fact.text)
    const counts = new Map<string, number>()
    for (const term of terms) if (wanted.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1)
    return counts.size > 0 ? [{ fact, length: terms.length, counts }] : []
  })
  const having = new Map<string, number>()
  for (const { counts } of found) for (const term of counts.keys()) having.set(term, (having.get(term) ?? 0) + 1)
  const mean = found.reduce((sum, { length }) => sum + length, 0) / found.length
  const scored = found.map(({ fact, length, counts }) => {
    let score = 0
    for (const [term, count] of counts) {
      const df = having.get(term) ?? 0
      const rarity = Math.log(1 + (found.length - df + 0.5) / (df + 0.5))
      const weight = SATURATION * (1 - LENGTH + (LENGTH * length) / mean)
      score += (rarity * count * (SATURATION + 1)) / (count + weight)
    }
    return { fact, score }
  })
  scored.sort((a, b) => b.score - a.score || b.fact.seq - a.fact.seq)
  return scored.slice(0, limit).map(({ fact }) => fact)
}

/**
 * Orders facts by the angle between their embedding and this one, the nearest first and of equals the newest.
 * Contract: leaves out those without an embedding and those of another length.
 */
export function nearestFacts(
  embedding: readonly number[],
  facts: readonly { readonly fact: Fact; readonly embedding: ArrayLike<number> | undefined }[],
  limit: number,
): readonly Fact[] {
  const scored = facts.flatMap(({ fact, embedding: own }) =>
    own && own.length === embedding.length ? [{ fact, score: cosine(embedding, own) }] : [],
  )
  scored.sort((a, b) => b.score - a.score || b.fact.seq - a.fact.seq)
  return scored.slice(0, limit).map(({ fact }) => fact)
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let product = 0
  let lengthA = 0
  let lengthB = 0
  for (let i = 0; i < a.length; i++) {
    const x = a[i] as number
    const y = b[i] as number
    product += x * y
    lengthA += x * x
    lengthB += y * y
  }
  return lengthA === 0 || lengthB === 0 ? 0 : product / Math.sqrt(lengthA * lengthB)
}
