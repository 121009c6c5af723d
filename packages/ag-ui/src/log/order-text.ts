/** One place of a log: a whole event (no length), a piece of a text, or nothing (no event). */
export interface Place {
  /** The index of the event. */
  readonly event?: number
  /** How many characters of its text the piece has. */
  readonly length?: number
}

/** Printable characters that JSON does not escape. The first half ends a number, the others stand before its end. */
const DIGITS: string = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i))
  .filter((digit) => digit !== '"' && digit !== '\\')
  .join('')
const BASE: number = DIGITS.length >> 1

/** After a zero: what the next number of the order is not a length of a piece, but. */
const WHOLE = 0
const NOTHING = 1
const AGAIN = 2
/** The text that the next pieces belong to; more than this is the index of its event. */
const TEXT = 3

/**
 * Writes places as a short text: one character for most pieces.
 * Contract: whole events come in the order of their indexes, and so do the first pieces of texts.
 */
export function orderText(places: Iterable<Place>): string {
  let text = ''
  let current = -1
  let last = ''
  let again = 0
  const flush = () => {
    const repeated = numberText(0) + numberText(AGAIN) + numberText(again)
    text += again > 0 && repeated.length < last.length * again ? repeated : last.repeat(again)
    again = 0
  }
  for (const { event, length } of places) {
    const isSwitch = length !== undefined && event !== current
    const next = placeText(event, length)
    if (next === last && !isSwitch) {
      again++
      continue
    }
    flush()
    if (isSwitch) {
      current = event as number
      text += numberText(0) + numberText(TEXT + current)
    }
    text += next
    last = next
  }
  flush()
  return text
}

function placeText(event: number | undefined, length: number | undefined): string {
  if (length !== undefined) return numberText(length)
  return numberText(0) + numberText(event === undefined ? NOTHING : WHOLE)
}

/** Reads places. */
export function placesOf(order: string): readonly Place[] {
  const places: Place[] = []
  const numbers = numbersOf(order)
  let current = -1
  /** The first event that has not come yet. */
  let next = 0
  const add = (place: Place) => {
    places.push(place)
    if (place.event !== undefined) next = Math.max(next, place.event + 1)
  }
  for (let i = 0; i < numbers.length; i++) {
    const length = numbers[i] as number
    if (length > 0) {
      add({ event: current, length })
      continue
    }
    const kind = numbers[++i] as number
    if (kind === WHOLE) add({ event: next })
    else if (kind === NOTHING) add({})
    else if (kind >= TEXT) current = kind - TEXT
    else for (let times = numbers[++i] as number; times > 0; times--) add(repeated(places.at(-1) ?? {}, next))
  }
  return places
}

/** The next place of the same kind. */
function repeated(place: Place, next: number): Place {
  return place.event !== undefined && place.length === undefined ? { event: next } : place
}

function numberText(number: number): string {
  let text = DIGITS.charAt(number % BASE)
  for (let rest = Math.floor(number / BASE); rest > 0; rest = Math.floor(rest / BASE)) {
    text = DIGITS.charAt(BASE + (rest % BASE)) + text
  }
  return text
}

function numbersOf(order: string): readonly number[] {
  const numbers: number[] = []
  let number = 0
  for (const digit of order) {
    const value = DIGITS.indexOf(digit)
    number = number * BASE + (value % BASE)
    if (value >= BASE) continue
    numbers.push(number)
    number = 0
  }
  return numbers
}
