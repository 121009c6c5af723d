import type { CompiledRule } from './redaction-rule.ts'

interface Match {
  readonly start: number
  end: number
  /** The place of its rule, which decides between those that begin at the same place. */
  readonly rule: number
  readonly replace: string
}

/** How much text that was given is kept before it is dropped. */
const SLACK = 4096

/**
 * One text that comes in pieces, with the matches of rules replaced.
 * Contract: however the text is cut, the pieces that come out are the same text; a match that begins before another one has ended makes one match with it.
 */
export class RedactedText {
  readonly #rules: readonly CompiledRule[]
  /** How far back an expression may look. */
  readonly #behind: number
  /** The text that is still looked at. */
  #raw = ''
  /** How much of it was given. */
  #given = 0
  /** Where each rule goes on. */
  readonly #from: number[]
  /** Matches that were found and not given, in order, apart from each other. */
  #matches: Match[] = []

  constructor(rules: readonly CompiledRule[]) {
    this.#rules = rules
    this.#from = rules.map(() => 0)
    this.#behind = Math.max(...rules.map(({ longest }) => longest))
  }

  /** Adds a piece and gives what is decided. */
  write(piece: string): string {
    this.#raw += piece
    return this.#give(this.#search(false))
  }

  /** Gives the rest. Contract: the text may go on, and what goes on with a match is still replaced. */
  flush(): string {
    return this.#give(this.#search(true))
  }

  /** Searches what can be decided and gives where that ends. Contract: `final` treats the end so far as the end of the text. */
  #search(final: boolean): number {
    const raw = this.#raw
    const found: Match[] = []
    let decided = raw.length
    for (const [i, rule] of this.#rules.entries()) {
      const end = final ? raw.length : decidedBy(raw, rule)
      this.#searchFor(rule, i, end, found)
      // What goes on may make a match of what was given in the end.
      if (!final) this.#from[i] = Math.max(this.#from[i] as number, end)
      decided = Math.min(decided, end)
    }
    if (found.length > 0) this.#matches = merged([...this.#matches, ...found])
    return decided
  }

  /** Finds the matches of a rule that begin before `end`, and that are not given as a whole. */
  #searchFor({ find, replace }: CompiledRule, i: number, end: number, all: Match[]): void {
    for (let from = this.#from[i] as number; from < end; ) {
      const found = find(this.#raw, from)
      if (!found || found.start >= end) return
      const isNew = found.end > found.start && found.end > this.#given
      if (isNew) all.push({ start: found.start, end: found.end, rule: i, replace })
      from = Math.max(found.end, found.start + 1, from + 1)
      this.#from[i] = from
    }
  }

  #give(decided: number): string {
    let end = wholePairs(this.#raw, this.#given, decided)
    let text = ''
    let given = this.#given
    let taken = 0
    for (const { start, end: matchEnd, replace } of this.#matches) {
      if (start >= end) break
      if (matchEnd > end) {
        end = Math.max(given, start)
        break
      }
      text += this.#raw.slice(given, Math.max(given, start)) + replace
      given = matchEnd
      taken++
    }
    if (taken > 0) this.#matches = this.#matches.slice(taken)
    text += this.#raw.slice(given, end)
    this.#given = Math.max(given, end)
    this.#drop()
    return text
  }

  /** Drops text that no expression looks at any more. */
  #drop(): void {
    const needed = Math.min(this.#given, ...this.#from)
    const cut = needed - this.#behind
    if (cut < SLACK) return
    this.#raw = this.#raw.slice(cut)
    this.#given -= cut
    for (const [i, from] of this.#from.entries()) this.#from[i] = from - cut
    this.#matches = this.#matches.map((match) => ({ ...match, start: match.start - cut, end: match.end - cut }))
  }
}

/** Matches in order, with one in place of those that overlap. */
function merged(matches: Match[]): Match[] {
  const apart: Match[] = []
  for (const one of matches.sort((a, b) => a.start - b.start || a.rule - b.rule)) {
    const last = apart.at(-1)
    if (last && one.start < last.end) last.end = Math.max(last.end, one.end)
    else apart.push(one)
  }
  return apart
}

/** Where what can be decided ends: every match that begins before is there as a whole, with what the expression looks at. */
function decidedBy(raw: string, { longest, oneWord }: CompiledRule): number {
  const far = raw.length - longest
  return Math.max(0, oneWord ? Math.max(far, afterLastSpace(raw, far)) : far)
}

/** The place after the last white space, not before `least`. */
function afterLastSpace(raw: string, least: number): number {
  for (let i = raw.length - 1; i >= Math.max(0, least); i--) if (isSpace(raw.charCodeAt(i))) return i + 1
  return 0
}

function isSpace(code: number): boolean {
  return (
    code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0x3000 || code === 0x2028 || code === 0x2029
  )
}

/** An end that does not part the two units of one sign. */
function wholePairs(raw: string, given: number, end: number): number {
  const isHigh = end > given && end < raw.length && (raw.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return isHigh ? end - 1 : end
}
