import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EMPTY, isSummary, SECTIONS, type Summary, summaryText, updatedSummary } from './summary.ts'

const ANSWER = `## Goal
A trip to Bergen.

## Facts
- Ada travels with two children.
- The hotel is
  the Blue House.
## Open ends
* Which ferry?
## Obsolete
- none`

const first = updatedSummary(EMPTY, ANSWER, 10_000)

describe('an update of a summary', () => {
  it('has the lines of the answer, each with a number', () => {
    expect(first).toEqual({
      goal: 'A trip to Bergen.',
      lines: [
        { no: 1, section: 'facts', text: 'Ada travels with two children.' },
        { no: 2, section: 'facts', text: 'The hotel is the Blue House.' },
        { no: 3, section: 'openEnds', text: 'Which ferry?' },
      ],
      last: 3,
    })
  })

  it('keeps former lines word for word, and removes those that the answer calls obsolete', () => {
    const next = updatedSummary(first, '## Decisions\n- The ferry at nine.\n## Obsolete\n- 3, 99', 10_000)
    expect(summaryText(next)).toBe(`## Goal
A trip to Bergen.

## Facts
- Ada travels with two children.
- The hotel is the Blue House.

## Decisions
- The ferry at nine.`)
    expect(summaryText(next, true)).toContain('- [4] The ferry at nine.')
  })

  it('does not repeat a line, and takes text without headings as facts', () => {
    const next = updatedSummary(first, 'Ada travels with two children.\nA line of its own.', 10_000)
    expect(next.lines.map(({ text }) => text)).toContain('Ada travels with two children. A line of its own.')
    const same = updatedSummary(first, '## Facts\n- Ada travels with two children.', 10_000)
    expect(same.lines).toEqual(first.lines)
  })

  it('gives up its oldest lines if it grows too long, but no open ends', () => {
    const texts = ({ lines }: Summary) => lines.map(({ text }) => text)
    expect(texts(updatedSummary(first, '## Facts\n- new', 20))).toEqual(['Which ferry?', 'new'])
    expect(texts(updatedSummary(first, '## Facts\n- new', 0))).toEqual(['Which ferry?'])
  })

  it('keeps what no answer calls obsolete, whatever models write', () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom(...Object.values(SECTIONS).map((title) => `## ${title}`), '## Goal', '- ', '*', '#', '##'),
      fc.string().map((text) => `- ${text}`),
    )
    const answers = fc.array(
      fc.array(line).map((lines) => lines.join('\n')),
      { maxLength: 6 },
    )
    fc.assert(
      fc.property(answers, (list) => {
        let summary: Summary = first
        for (const answer of list) {
          const { lines, last } = summary
          summary = updatedSummary(summary, answer, Number.POSITIVE_INFINITY)
          expect(isSummary(JSON.parse(JSON.stringify(summary)))).toBe(true)
          expect(summary.lines.slice(0, lines.length)).toEqual(lines)
          expect(summary.lines.slice(lines.length).every(({ no }) => no > last)).toBe(true)
        }
      }),
    )
  })
})

it.each([null, 1, {}, { goal: '', lines: [{}], last: 0 }, { goal: '', lines: [], last: 0.5 }])(
  '%j is not a summary',
  (value) => {
    expect(isSummary(value)).toBe(false)
  },
)
