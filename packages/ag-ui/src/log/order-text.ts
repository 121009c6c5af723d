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
const [WHOLE, NOTHING, AGAIN, PIECE] = ['w', 'n', 'a', 'p']

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
  const places: Place[] = []
  const recent = new RecentTexts()
  /** What stood before, for places that come again. */
  let before: () => Place = () => ({})
  let at = 0
  /** The first event that has not come yet. */
  let next = 0
  const number = () => {
    for (let sum = 0; ; ) {
      const value = DIGITS.indexOf(order.charAt(at++))
      sum = sum * BASE + (value % BASE)
      if (value < BASE) return sum
    }
  }
  const add = (place: () => Place, times = 1) => {
    before = place
    for (let i = 0; i < times; i++) {
      const { event, length } = place()
      if (event !== undefined) next = Math.max(next, event + 1)
      if (event !== undefined && length !== undefined) recent.meet(event)
      places.push(length === undefined ? (event === undefined ? {} : { event }) : { event: event as number, length })
    }
  }
  while (at < order.length) {
    const digit = DIGITS.indexOf(order.charAt(at++)) - 1
    if (digit >= 0) {
      const rank = Math.floor(digit / LENGTHS)
      add(() => ({ event: recent.at(rank), length: (digit % LENGTHS) + 1 }))
      continue
    }
    switch (order.charAt(at++)) {
      case WHOLE:
        add(() => ({ event: next }))
        break
      case NOTHING:
        add(() => ({}))
        break
      case PIECE: {
        const [event, length] = [number(), number()]
        add(() => ({ event, length }))
        break
      }
      default:
        add(before, number())
    }
  }
  return places
}

function numberText(number: number): string {
  let text = DIGITS.charAt(number % BASE)
  for (let rest = Math.floor(number / BASE); rest > 0; rest = Math.floor(rest / BASE)) {
    text = DIGITS.charAt(BASE + (rest % BASE)) + text
  }
  return text
}
