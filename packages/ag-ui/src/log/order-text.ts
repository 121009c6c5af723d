/** One place of a log: a whole event (no length), a piece of a text, or nothing (no event). */
export interface Place {
  /** The index of the event. */
  readonly event?: number
  /** How many characters of its text the piece has. */
  readonly length?: number
}

/** Printable characters that JSON does not escape. */
const DIGITS: string = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i))
  .filter((digit) => digit !== '"' && digit !== '\\')
  .join('')
/** In a number the first half of the digits ends it, and the others stand before its end. */
const BASE: number = DIGITS.length >> 1
/** A short piece is one digit: for each of the texts that came last, its length. */
const TEXTS = 4
const LENGTHS = 22

/** The first digit begins what is not a short piece; the next one says what. */
const OTHER: string = DIGITS.charAt(0)
const WHOLE = 'w'
const NOTHING = 'n'
const AGAIN = 'a'
const PIECE = 'p'

/** The texts that came last, the last one first. */
class RecentTexts {
  readonly #events: number[] = []

  /** How many others came since a text came, and -1 if it is not among them; then it is the last one. */
  meet(event: number): number {
    const rank = this.#events.indexOf(event)
    if (rank >= 0) this.#events.splice(rank, 1)
    this.#events.unshift(event)
    this.#events.length = Math.min(this.#events.length, TEXTS)
    return rank
  }

  at(rank: number): number {
    return this.#events[rank] as number
  }
}

/**
 * Writes places as a short text: one character for most pieces.
 * Contract: whole events come in the order of their indexes.
 */
export function orderText(places: Iterable<Place>): string {
  const recent = new RecentTexts()
  let text = ''
  let last = ''
  let again = 0
  const flush = () => {
    const repeated = OTHER + AGAIN + numberText(again)
    text += repeated.length < last.length * again ? repeated : last.repeat(again)
    again = 0
  }
  for (const place of places) {
    const next = placeText(place, recent)
    if (next === last) {
      again++
      continue
    }
    flush()
    text += next
    last = next
  }
  flush()
  return text
}

function placeText({ event, length }: Place, recent: RecentTexts): string {
  if (event === undefined) return OTHER + NOTHING
  if (length === undefined) return OTHER + WHOLE
  const rank = recent.meet(event)
  if (rank >= 0 && length <= LENGTHS) return DIGITS.charAt(rank * LENGTHS + length)
  return OTHER + PIECE + numberText(event) + numberText(length)
}

/** Reads places. */
export function placesOf(order: string): readonly Place[] {
  return new OrderReader(order).places()
}

/** Makes the next place of a kind. */
type NextPlace = () => Place

class OrderReader {
  readonly #order: string
  #at = 0
  readonly #recent = new RecentTexts()
  /** The first event that has not come yet. */
  #next = 0

  constructor(order: string) {
    this.#order = order
  }

  places(): readonly Place[] {
    const places: Place[] = []
    let next: NextPlace = nothing
    while (this.#at < this.#order.length) {
      const again = this.#read()
      if (typeof again === 'function') next = again
      for (let times = typeof again === 'number' ? again : 1; times > 0; times--) places.push(this.#place(next))
    }
    return places
  }

  /** How the next place is made; a number says how often the last kind comes again. */
  #read(): NextPlace | number {
    const digit = this.#digit() - 1
    if (digit >= 0) {
      const [rank, length] = [Math.floor(digit / LENGTHS), (digit % LENGTHS) + 1]
      return () => ({ event: this.#recent.at(rank), length })
    }
    switch (this.#order.charAt(this.#at++)) {
      case WHOLE:
        return () => ({ event: this.#next })
      case NOTHING:
        return nothing
      case PIECE: {
        const [event, length] = [this.#number(), this.#number()]
        return () => ({ event, length })
      }
      default:
        return this.#number()
    }
  }

  #place(make: NextPlace): Place {
    const place = make()
    const { event, length } = place
    if (event === undefined) return place
    this.#next = Math.max(this.#next, event + 1)
    if (length !== undefined) this.#recent.meet(event)
    return place
  }

  #number(): number {
    for (let sum = 0; ; ) {
      const digit = this.#digit()
      sum = sum * BASE + (digit % BASE)
      if (digit < BASE) return sum
    }
  }

  #digit(): number {
    return DIGITS.indexOf(this.#order.charAt(this.#at++))
  }
}

function nothing(): Place {
  return {}
}

function numberText(number: number): string {
  let text = DIGITS.charAt(number % BASE)
  for (let rest = Math.floor(number / BASE); rest > 0; rest = Math.floor(rest / BASE)) {
    text = DIGITS.charAt(BASE + (rest % BASE)) + text
  }
  return text
}
