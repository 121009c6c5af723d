import { check, checkList, checkNumber, checkText, isRecord } from './check-value.ts'
import type { FactStore } from './fact-store.ts'

/** The number of facts that an owner keeps; the oldest one goes first. */
export const MAX_FACTS = 1000
/** The number of characters that a fact has at most. */
export const MAX_FACT = 10_000
const MAX_DIMENSIONS = 8192

/** Checks a fact. */
export function checkFact(who: string, fact: Parameters<FactStore['add']>[1]): void {
  check(who, isRecord(fact), 'a fact with text and at', fact)
  const { text, at, embedding } = fact
  checkText(who, 'text of a fact', text)
  check(who, text.trim() !== '' && text.length <= MAX_FACT, `a text of 1 to ${MAX_FACT} characters as fact`, text)
  checkNumber(who, 'at', at)
  if (embedding !== undefined) checkEmbedding(who, embedding)
}

/** Checks what is searched. */
export function checkFactSearch(who: string, query: Parameters<FactStore['search']>[1]): void {
  check(who, isRecord(query), 'a query with text and limit', query)
  checkText(who, 'text', query.text)
  checkFactLimit(who, query.limit)
}

/** Checks what is looked for by its embedding. */
export function checkNear(who: string, query: Parameters<FactStore['near']>[1]): void {
  check(who, isRecord(query), 'a query with embedding and limit', query)
  checkEmbedding(who, query.embedding)
  checkFactLimit(who, query.limit)
}

/** Checks which facts are forgotten. */
export function checkForget(who: string, seqs: readonly number[] | 'all'): void {
  if (seqs === 'all') return
  checkList(who, 'sequences', seqs)
  check(who, seqs.length <= MAX_FACTS, `at most ${MAX_FACTS} sequences`, seqs.length)
  for (const seq of seqs) checkNumber(who, 'seq', seq)
}

function checkFactLimit(who: string, limit: number): void {
  check(who, Number.isInteger(limit) && limit >= 1 && limit <= MAX_FACTS, `a limit from 1 to ${MAX_FACTS}`, limit)
}

function checkEmbedding(who: string, embedding: readonly number[]): void {
  checkList(who, 'numbers as embedding', embedding)
  const { length } = embedding
  check(who, length >= 1 && length <= MAX_DIMENSIONS, `an embedding of 1 to ${MAX_DIMENSIONS} numbers`, length)
  for (const value of embedding) checkNumber(who, 'value of an embedding', value)
}
