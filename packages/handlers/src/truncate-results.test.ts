import { type Content, type Part, type ToolCallResult, textOf } from '@troupe/kernel'
import { testHandler } from '@troupe/testkit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callOf, contextOf, streamedThrough, wrapped } from './handlers.fixture.ts'
import { type TruncateResultsOptions, truncateResults } from './truncate-results.ts'

testHandler('truncateResults', () => truncateResults({ maxChars: 100 }))

async function through(options: TruncateResultsOptions, result: ToolCallResult): Promise<ToolCallResult> {
  return wrapped(truncateResults(options), async () => result)(contextOf(), callOf())
}

const cut = async (content: Content, options: TruncateResultsOptions = { maxChars: 100 }) =>
  (await through(options, { content })).content

const long = `${'a'.repeat(500)}${'z'.repeat(500)}`

describe('a text', () => {
  it('that is short enough is passed on as it is', async () => {
    const result: ToolCallResult = { content: 'x'.repeat(100) }
    expect(await through({ maxChars: 100 }, result)).toBe(result)
    expect(await through({}, result)).toBe(result)
    expect(await cut('')).toBe('')
  })

  it.each([
    ['both', /^a{34}\n\[… 932 characters left out …\]\nz{34}$/],
    ['head', /^a{68}\n\[… 932 characters left out …\]\n$/],
    ['tail', /^\n\[… 932 characters left out …\]\nz{68}$/],
  ] as const)('that is too long keeps %s, and says how much is missing', async (keep, shape) => {
    expect(await cut(long, { maxChars: 100, keep })).toMatch(shape)
  })

  it('has 20,000 characters by default', async () => {
    expect(textOf(await cut('x'.repeat(20_001), {})).length).toBeLessThanOrEqual(20_000)
    expect(await cut('x'.repeat(20_000), {})).toHaveLength(20_000)
  })

  it('never exceeds its limit, keeps its ends, cuts no pair, and is not cut twice (property)', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', '😀', '中', '\n'), minLength: 90, maxLength: 400 })
    const keeps = fc.constantFrom('both', 'head', 'tail')
    await fc.assert(
      fc.asyncProperty(text, keeps, fc.integer({ min: 100, max: 130 }), async (content, keep, maxChars) => {
        const short = textOf(await cut(content, { maxChars, keep }))
        expect(short.length).toBeLessThanOrEqual(maxChars)
        expect(short.isWellFormed()).toBe(true)
        expect(await cut(short, { maxChars, keep })).toBe(short)
        const [, head = '', missing = '', tail = ''] =
          /^(.*)\n\[… (\d+) characters left out …\]\n(.*)$/s.exec(short) ?? []
        if (short === content) return
        expect(content.startsWith(head) && content.endsWith(tail)).toBe(true)
        expect(head.length + Number(missing) + tail.length).toBe(content.length)
      }),
    )
  })
})

describe('parts', () => {
  const image: Part = { type: 'file', mediaType: 'image/png', data: 'A'.repeat(1000) }
  const text = (value: string): Part => ({ type: 'text', text: value, metadata: { vendor: { mark: 1 } } })

  it('that are files stay, and do not count', async () => {
    const content: readonly Part[] = [image, text('short'), image]
    expect(await cut(content)).toBe(content)
    const short = await cut([image, text(long), image])
    expect(short).toEqual([image, { ...text(''), text: expect.stringMatching(/^a{34}\n\[.*\]\nz{34}$/) }, image])
  })

  it('that are texts are cut as if they were one, with one note; those in the middle go', async () => {
    const first = text('a'.repeat(20))
    const last = text('z'.repeat(20))
    const parts = [first, text('b'.repeat(200)), image, text('c'.repeat(200)), text('y'.repeat(200)), last]
    const short = (await cut(parts)) as readonly Part[]
    expect(short).toEqual([
      first,
      { ...text(''), text: `${'b'.repeat(14)}\n[… 571 characters left out …]\n` },
      image,
      { ...text(''), text: 'y'.repeat(15) },
      last,
    ])
    expect(short[0]).toBe(first)
    expect(textOf(short)).toHaveLength(100)
  })

  it('are as long as one text would be, wherever they are divided (property)', async () => {
    const texts = fc.array(fc.string({ unit: fc.constantFrom('a', '😀'), maxLength: 80 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(texts, fc.constantFrom('both', 'head', 'tail'), async (list, keep) => {
        const options = { maxChars: 100, keep } as const
        const short = await cut(list.map(text), options)
        expect(textOf(short)).toBe(await cut(list.join(''), options))
      }),
    )
  })
})

it('leaves display, data and errors alone', async () => {
  const rest = { display: long, data: { long }, error: { code: 'TOOL_FAILED', message: long }, direct: true }
  const { content, ...after } = await through({ maxChars: 100 }, { content: long, ...rest })
  expect(after).toEqual(rest)
  expect(content).not.toBe(long)
})

it('shows the chunks of a streamed call as they come, and shortens its result', async () => {
  const { shown, result } = await streamedThrough(
    truncateResults({ maxChars: 100 }),
    contextOf(),
    callOf(),
    [long],
    long,
  )
  expect(shown).toEqual([long])
  expect(result.content).toMatch(/^a{34}\n\[.*\]\nz{34}$/)
})

it.each([
  [{ maxChars: 99 }, 'maxChars must be a whole number from 100 on, got 99'],
  [{ maxChars: '200' }, 'maxChars must be a whole number from 100 on, got "200"'],
  [{ keep: 'toString' }, `keep must be 'both', 'head' or 'tail', got "toString"`],
])('refuses the options %j', (options, message) => {
  expect(() => truncateResults(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: `truncateResults: ${message}` }),
  )
})
