import { checkFact, checkFactSearch, checkForget, checkNear, MAX_FACTS } from '../store/check-fact.ts'
import { checkPage } from '../store/check-page.ts'
import { checkOwner } from '../store/check-ref.ts'
import type { FactStore } from '../store/fact-store.ts'
import { nearestFacts, rankFacts } from '../store/rank-facts.ts'
import { findOwner, type MemoryData, pageOf, WHO } from './memory-data.ts'

/** Facts in memory. */
export function memoryFacts(data: MemoryData): FactStore {
  return {
    async add(owner, given) {
      checkOwner(WHO, owner)
      checkFact(WHO, given)
      const own = findOwner(data, owner)
      const { text, at, embedding } = given
      const same = own.facts.find(({ fact }) => fact.text === text)
      if (same) return same.fact
      const fact = { seq: ++own.factSeq, text, at }
      own.facts.push({ fact, embedding: embedding && Float32Array.from(embedding) })
      if (own.facts.length > MAX_FACTS) own.facts.shift()
      data.owners.set(own.key, own)
      return fact
    },

    async list(owner, page) {
      checkOwner(WHO, owner)
      const whole = checkPage(WHO, page)
      return pageOf(
        findOwner(data, owner).facts.map(({ fact }) => fact),
        whole,
      )
    },

    async search(owner, query) {
      checkOwner(WHO, owner)
      checkFactSearch(WHO, query)
      const facts = findOwner(data, owner).facts.map(({ fact }) => fact)
      return rankFacts(query.text, facts, query.limit)
    },

    async near(owner, query) {
      checkOwner(WHO, owner)
      checkNear(WHO, query)
      return nearestFacts(query.embedding, findOwner(data, owner).facts, query.limit)
    },

    async forget(owner, seqs) {
      checkOwner(WHO, owner)
      checkForget(WHO, seqs)
      const { facts } = findOwner(data, owner)
      const before = facts.length
      const kept = seqs === 'all' ? [] : facts.filter(({ fact }) => !seqs.includes(fact.seq))
      facts.splice(0, before, ...kept)
      return before - kept.length
    },
  }
}
