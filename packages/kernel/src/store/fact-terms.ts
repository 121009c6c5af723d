/** Scripts that are written without spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u
const WORD = /[\p{L}\p{N}\p{M}]+/gu
const MARKS = /[\u0300-\u036f]/g
const MAX_TERM = 64
/** The most words that a fact is found by. */
const MAX_TERMS = 2000
/** The most words that a search looks for, from either end of its text. */
const MAX_WANTED = 32

/**
 * The words of a text as full-text search compares them: without case, accents and the s of a plural; pairs of signs where a script has no spaces.
 * Contract: in the order of the text, with repetitions; letters, digits and marks only.
 * @example factTerms('Zoë likes 绿茶!') // ['zoe', 'like', '绿茶']
 */
export function factTerms(text: string): readonly string[] {
  const terms: string[] = []
  for (const term of termsOf(text)) {
    terms.push(term)
    if (terms.length === MAX_TERMS) break
  }
  return terms
}

/** The words that a search looks for: the first 32 of a text and the last 32, since a question comes before or behind what it is about. Contract: each once. */
export function searchTerms(text: string): readonly string[] {
  const first = new Set<string>()
  const last = new Set<string>()
  for (const term of termsOf(text)) {
    if (first.size < MAX_WANTED) first.add(term)
    // A word that comes again moves to the end.
    last.delete(term)
    last.add(term)
    if (last.size > MAX_WANTED) {
      const [oldest = ''] = last
      last.delete(oldest)
    }
  }
  return [...new Set([...first, ...last])]
}

function* termsOf(text: string): Generator<string> {
  const plain = text.normalize('NFKD').replace(MARKS, '').normalize('NFC').toLowerCase()
  for (const [word] of plain.matchAll(WORD)) {
    for (const run of runsOf(word)) {
      if (UNSPACED.test(run)) yield* pairsOf(run)
      else yield stem(run)
    }
  }
}

/** Splits a word where it changes between scripts with and without spaces. */
function runsOf(word: string): readonly string[] {
  const runs: string[] = []
  let before: boolean | undefined
  for (const sign of word) {
    const unspaced = UNSPACED.test(sign)
    if (unspaced === before) runs[runs.length - 1] += sign
    else runs.push(sign)
    before = unspaced
  }
  return runs
}

function* pairsOf(run: string): Generator<string> {
  let pairs = 0
  let before = ''
  for (const sign of run) {
    if (before !== '') {
      yield `${before}${sign}`
      pairs++
    }
    before = sign
  }
  if (pairs === 0) yield before
}

function stem(word: string): string {
  const whole = word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
  return [...whole].slice(0, MAX_TERM).join('')
}
