/** Scripts that are written without spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u
const WORD = /[\p{L}\p{N}\p{M}]+/gu
const MARKS = /[\u0300-\u036f]/g
const MAX_TERM = 64
const MAX_TERMS = 2000

/**
 * The words of a text as full-text search compares them: without case, accents and the s of a plural; pairs of signs where a script has no spaces.
 * Contract: in the order of the text, with repetitions; letters, digits and marks only.
 * @example factTerms('Zoë likes 绿茶!') // ['zoe', 'like', '绿茶']
 */
export function factTerms(text: string): readonly string[] {
  const plain = text.normalize('NFKD').replace(MARKS, '').normalize('NFC').toLowerCase()
  const terms: string[] = []
  for (const [word] of plain.matchAll(WORD)) {
    for (const run of runsOf(word)) terms.push(...(UNSPACED.test(run) ? pairsOf(run) : [stem(run)]))
    if (terms.length >= MAX_TERMS) break
  }
  return terms.slice(0, MAX_TERMS)
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

function pairsOf(run: string): readonly string[] {
  const signs = [...run]
  return signs.length === 1 ? signs : signs.slice(1).map((sign, i) => `${signs[i]}${sign}`)
}

function stem(word: string): string {
  const whole = word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
  return [...whole].slice(0, MAX_TERM).join('')
}
