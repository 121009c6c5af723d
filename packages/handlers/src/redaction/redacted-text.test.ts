import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CARD, EMAIL, IBAN } from './personal-data.ts'
import { RedactedText } from './redacted-text.ts'
import { compileRules, type RedactionRule } from './redaction-rule.ts'

const RULES: readonly RedactionRule[] = [
  EMAIL,
  CARD,
  IBAN,
  { name: 'secret', match: ['Bluebird', 'Blue', 'the 😀 plan', 'bird song'] },
  { name: 'number', match: /(?<![\d.])\d{4,12}(?!\d)/g, longest: 14 },
  { name: 'tag', match: /<<[^>]{0,40}>>/g, longest: 44, replace: '' },
]

function redacted(pieces: readonly string[], rules = RULES): { readonly text: string; readonly shown: string[] } {
  const redaction = new RedactedText(compileRules('test', rules))
  const shown = pieces.map((piece) => redaction.write(piece))
  shown.push(redaction.flush())
  return { text: shown.join(''), shown }
}

const words = fc.constantFrom(
  'ann@example.com',
  'ann.bee+c@mail.example.org',
  '@',
  '4111 1111 1111 1111',
  '4111-1111-1111-1111',
  'DE89 3704 0044 0532 0130 00',
  'Bluebird',
  'Blue bird song',
  'the 😀 plan',
  '12345',
  '3.12345',
  '1'.repeat(25),
  '<<hidden>>',
  '<<',
  'a word',
  ' ',
  '\n',
  '.',
  '中文',
  'é',
)
const texts = fc.array(words, { maxLength: 12 }).map((parts) => parts.join(''))
/** The places where a text is cut. */
const cuts = fc.array(fc.nat(400), { maxLength: 30 })

function pieces(text: string, at: readonly number[]): readonly string[] {
  const places = [...new Set(at.map((place) => place % (text.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((place, i) => text.slice(place, [...places, text.length][i]))
}

describe('a text that comes in pieces', () => {
  test('has the same matches replaced however it is cut (10,000 random texts and cuts)', () => {
    fc.assert(
      fc.property(texts, cuts, (text, at) => {
        const whole = redacted([text]).text
        expect(redacted(pieces(text, at)).text).toBe(whole)
        expect(redacted([...text]).text).toBe(whole)
        for (const secret of ['Blue', 'the 😀 plan', 'bird song', '<<hidden>>']) {
          expect(whole).not.toContain(secret)
        }
      }),
      { numRuns: 10_000 },
    )
  })

  test('shows nothing of a match, not even its beginning', () => {
    const secret = 'ann.bee@example.com'
    for (let at = 0; at <= secret.length; at++) {
      const { shown } = redacted(['Mail ', secret.slice(0, at), secret.slice(at), ' today'])
      expect(shown.join('')).toBe('Mail [email] today')
      for (const piece of shown) expect(piece).not.toMatch(/ann|bee|example/)
    }
  })

  test('is shown word by word where no match has white space', () => {
    const { shown } = redacted(['One ', 'two th', 'ree ', 'four'], [EMAIL])
    expect(shown).toEqual(['One ', 'two ', 'three ', '', 'four'])
  })

  test('is not cut between the two units of a sign', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('😀', 'a', '👩‍🚀'), { maxLength: 40 }), cuts, (signs, at) => {
        for (const piece of redacted(pieces(signs.join(''), at).map(whole), [{ name: 'x', match: 'zzz' }]).shown) {
          expect(piece.isWellFormed()).toBe(true)
        }
      }),
    )
    function whole(piece: string): string {
      return piece.toWellFormed() === piece ? piece : ''
    }
  })

  test('that was flushed and goes on with a match shows no more of it', () => {
    const redaction = new RedactedText(compileRules('test', [{ name: 's', match: 'Bluebird' }]))
    const first = redaction.write('Call Blue') + redaction.flush()
    const rest = redaction.write('bird now') + redaction.flush()
    expect([first, rest]).toEqual(['Call Blue', '[s] now'])
  })

  test('keeps no more of a long text than the rules look at', () => {
    const redaction = new RedactedText(compileRules('test', RULES))
    let length = 0
    for (let i = 0; i < 20_000; i++) length += redaction.write('some words ').length
    expect(length + redaction.flush().length).toBe(220_000)
  })
})

describe('personal data', () => {
  test.each([
    ['Mail ann.bee+c@mail.example.org.', 'Mail [email].'],
    ['zoë@müller.example, <a@b.co>', '[email], <[email]>'],
    ['@ann, a@b, a@b.1, 3@4.5', '@ann, a@b, a@b.1, 3@4.5'],
    ['4111 1111 1111 1111 2026', '[card] 2026'],
    ['5500-0000-0000-0004 and 378282246310005', '[card] and [card]'],
    ['4111 1111 1111 1112, 12345678901234567890', '4111 1111 1111 1112, 12345678901234567890'],
    ['DE89 3704 0044 0532 0130 00', '[iban]'],
    ['to GB29NWBK60161331926819 now', 'to [iban] now'],
    ['DE88 3704 0044 0532 0130 00', 'DE88 3704 0044 0532 0130 00'],
    ['since 1795129922575', 'since 1795129922575'],
  ])('%s', (text, expected) => {
    expect(redacted([text], [EMAIL, CARD, IBAN]).text).toBe(expected)
    expect(redacted([...text], [EMAIL, CARD, IBAN]).text).toBe(expected)
  })

  test('is found in linear time', () => {
    for (const text of ['a@'.repeat(50_000), '1 '.repeat(50_000), 'A'.repeat(100_000), 'a'.repeat(100_000)]) {
      expect(redacted([text], [EMAIL, CARD, IBAN]).text).toBe(text)
    }
  })
})

describe('a long text', () => {
  /** As long as the longest message that an AG-UI server takes. */
  const LENGTH = 1_048_576
  const repeated = (word: string) => word.repeat(Math.ceil(LENGTH / word.length))

  test.each<[string, string, readonly RedactionRule[], string]>([
    ['many matches', 'a@b.co ', [EMAIL], '[email] '],
    ['many matches of several rules', 'a@b.co Bluebird ', [EMAIL, { name: 's', match: 'Bluebird' }], '[email] [s] '],
    ['many matches of a text beside one that is absent', 'B ', [{ name: 's', match: ['AbsentWord', 'B'] }], '[s] '],
  ])('with %s takes linear time', (_, word, rules, expected) => {
    const text = repeated(word)
    const shown = redacted([text], rules).text
    expect(shown === expected.repeat(text.length / word.length)).toBe(true)
  })
})

describe('matches that overlap', () => {
  const overlapping: readonly RedactionRule[] = [
    { name: 'a', match: 'one two three' },
    { name: 'b', match: 'three four' },
    { name: 'c', match: 'two' },
  ]

  test('become one, with the replacement of the first', () => {
    expect(redacted(['x one two three four y'], overlapping).text).toBe('x [a] y')
    expect(redacted([...'x two three four y'], overlapping).text).toBe('x [c] [b] y')
  })
})
