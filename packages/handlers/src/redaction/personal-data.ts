import type { FindMatch, RedactionRule } from './redaction-rule.ts'

const LOCAL = /^[\p{L}\p{N}._%+-]$/u
const HOST = /^[\p{L}\p{N}.-]$/u
const TOP = /^\p{L}{2,63}$/u
const MOST_LOCAL = 64
const MOST_HOST = 255

/** Addresses of mail. */
export const EMAIL: RedactionRule = {
  name: 'email',
  match: findEmail,
  longest: MOST_LOCAL + MOST_HOST + 2,
  oneWord: true,
}

/** Numbers of payment cards: 13 to 19 digits, in groups or not, that begin with 2 to 9 and whose check digit is right. Contract: a time in milliseconds does not match before 2033. */
export const CARD: RedactionRule = {
  name: 'card',
  match: (text, from) => findNumber(text, from, CARD_SHAPE),
  longest: 40,
}

/** International numbers of bank accounts whose check digits are right. */
export const IBAN: RedactionRule = {
  name: 'iban',
  match: (text, from) => findNumber(text, from, IBAN_SHAPE),
  longest: 70,
}

function findEmail(text: string, from: number): ReturnType<FindMatch> {
  for (let at = text.indexOf('@', from); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = at
    while (start > from && at - start < MOST_LOCAL && LOCAL.test(text[start - 1] as string)) start--
    let end = at + 1
    while (end < text.length && end - at <= MOST_HOST && HOST.test(text[end] as string)) end++
    while (text[end - 1] === '.' || text[end - 1] === '-') end--
    const host = text.slice(at + 1, end)
    if (start < at && host.includes('.', 1) && TOP.test(host.slice(host.lastIndexOf('.') + 1))) return { start, end }
  }
  return undefined
}

/** A number in groups that ends with, or contains, a check of itself. */
interface Shape {
  readonly sign: RegExp
  /** How many signs it has. */
  readonly least: number
  readonly most: number
  readonly separators: string
  isRight(signs: string): boolean
}

const CARD_SHAPE: Shape = { sign: /^\d$/, least: 13, most: 19, separators: ' -', isRight: isCard }
const IBAN_SHAPE: Shape = { sign: /^[A-Z\d]$/, least: 15, most: 34, separators: ' ', isRight: isIban }

/** Finds the longest number that begins first. */
function findNumber(text: string, from: number, shape: Shape): ReturnType<FindMatch> {
  const isSign = (at: number) => at >= 0 && at < text.length && shape.sign.test(text[at] as string)
  for (let start = from; start < text.length; start++) {
    if (!isSign(start) || isSign(start - 1)) continue
    const ends = endsOf(text, start, shape, isSign)
    let signs = text.slice(start, ends.at(-1)).replace(/[ -]/g, '')
    for (let count = ends.length; count >= shape.least; count--) {
      signs = signs.slice(0, count)
      const end = ends[count - 1] as number
      if (!isSign(end) && shape.isRight(signs)) return { start, end }
    }
  }
  return undefined
}

/** Where a number may end, by the count of its signs. */
function endsOf(text: string, start: number, { most, separators }: Shape, isSign: (at: number) => boolean): number[] {
  const ends: number[] = []
  for (let at = start; ends.length < most; at++) {
    if (!isSign(at) && separators.includes(text[at] ?? '\n') && isSign(at + 1) && ends.length > 0) at++
    if (!isSign(at)) break
    ends.push(at + 1)
  }
  return ends
}

/** Whether it is a number of a card; those that begin with 0 or 1 are of airlines and others. */
function isCard(digits: string): boolean {
  return digits[0] !== undefined && digits[0] > '1' && hasLuhnDigit(digits)
}

/** Whether the last digit is the check digit of the others (ISO/IEC 7812). */
function hasLuhnDigit(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    sum += i % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
  }
  return sum % 10 === 0
}

/** Whether it is a country, two check digits and an account (ISO 13616). */
function isIban(signs: string): boolean {
  if (!/^[A-Z]{2}\d{2}/.test(signs)) return false
  let rest = 0
  for (const sign of signs.slice(4) + signs.slice(0, 4)) {
    const value = Number.parseInt(sign, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}
