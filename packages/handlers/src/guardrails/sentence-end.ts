const WIDE_ENDS = new Set('。！？')
const ENDS = new Set(['.', '!', '?', '…', ...WIDE_ENDS])
const CLOSERS = new Set('"\'”’)]）」』')

/** A sentence that does not end is taken as one after so many characters. */
const LONGEST = 2000

/**
 * Where the first sentence of a text ends; 0 if that is not sure yet.
 * Contract: depends on the text alone and not on what may follow, so a text has the same sentences however it arrives.
 */
export function sentenceEnd(text: string): number {
  const length = Math.min(text.length, LONGEST)
  for (let i = 0; i < length; i++) {
    if (text[i] === '\n') return i + 1
    if (!ENDS.has(text[i] as string)) continue
    const after = afterEnd(text, i + 1)
    if (after === text.length || endsAt(text, i, after)) return endWith(text, after)
    i = after - 1
  }
  return text.length > LONGEST ? wholePair(text) : 0
}

/** The end of a sentence with the space after it; more signs of its end may follow at the end of the text. */
function endWith(text: string, after: number): number {
  if (after === text.length) return after < LONGEST ? 0 : LONGEST
  return isSpace(text[after] as string) ? after + 1 : after
}

/** Whether a sentence ends with these signs: what follows is space, or one of them needs none. */
function endsAt(text: string, from: number, after: number): boolean {
  return (
    isSpace(text[after] as string) || WIDE_ENDS.has(text[from] as string) || WIDE_ENDS.has(text[after - 1] as string)
  )
}

/** The place after all signs that end a sentence. */
function afterEnd(text: string, from: number): number {
  let after = from
  while (after < text.length && isEnd(text[after] as string)) after++
  return after
}

function wholePair(text: string): number {
  const isHigh = (text.charCodeAt(LONGEST - 1) & 0xfc00) === 0xd800
  return isHigh ? LONGEST - 1 : LONGEST
}

function isEnd(sign: string): boolean {
  return ENDS.has(sign) || CLOSERS.has(sign)
}

function isSpace(sign: string): boolean {
  return sign === ' ' || sign === '\n' || sign === '\t' || sign === '\r'
}
