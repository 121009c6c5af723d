import type { RedactionRule } from './redaction-rule.ts'

/** Addresses of mail. */
export const EMAIL: RedactionRule = {
  name: 'email',
  match: /[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,4}\p{L}{2,24}/u,
  longest: 350,
  oneWord: true,
}

/** Numbers of payment cards: 13 to 19 digits, in groups or not. */
export const CARD: RedactionRule = { name: 'card', match: /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/, longest: 40 }

/** International numbers of bank accounts. */
export const IBAN: RedactionRule = {
  name: 'iban',
  match: /(?<![A-Z\d])[A-Z]{2}\d{2}(?: ?[A-Z\d]){11,30}(?![A-Z\d])/,
  longest: 68,
}
