import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chinesePages, differences, hashesOf, proseOf, read, readFollowed } from './chinese-docs.ts'

const root = join(import.meta.dirname, '..')
const pages = chinesePages()
const glossary = glossaryOf(read('docs/zh/README.md'))

/** The rows of the glossary: an English term, the Chinese one, and the words that are not used for it. */
function glossaryOf(page: string): readonly { english: string; chinese: string; others: readonly string[] }[] {
  const rows = [...page.matchAll(/^\| ([^|]+) \| ([^|]+) \|(?: ([^|]+))? \|$/gm)].slice(1)
  return rows.map(([, english = '', chinese = '', others]) => ({ english, chinese, others: others?.split('、') ?? [] }))
}

/** The words of a page for which the glossary has another. */
function wrongWords(page: string): readonly string[] {
  let prose = proseOf(page)
  for (const { chinese } of [...glossary].sort((a, b) => b.chinese.length - a.chinese.length)) {
    if (/\p{Script=Han}/u.test(chinese)) prose = prose.replaceAll(chinese, '\n')
  }
  return glossary.flatMap(({ chinese, others }) =>
    others
      .filter((word) =>
        /^[a-z-]+$/.test(word) ? new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(prose) : prose.includes(word),
      )
      .map((word) => `${word}: the glossary has ${chinese}`),
  )
}

describe.each(pages)('docs/zh/%s', (page) => {
  it('has an English page of the same name, and is in the list of Chinese pages', () => {
    expect(existsSync(join(root, 'docs', page))).toBe(true)
    expect(read('docs/zh/README.md')).toContain(`](${page})`)
  })

  it('has the headings, code, tables, links and numbers of the English page', () => {
    expect(differences(read(`docs/${page}`), read(`docs/zh/${page}`), pages)).toEqual([])
  })

  it('follows every section of the English page as it is now', () => {
    const followed = readFollowed()[page] ?? {}
    const changed = Object.entries(hashesOf(read(`docs/${page}`)))
      .filter(([id, hash]) => followed[id] !== hash)
      .map(
        ([id]) =>
          `docs/${page}#${id} has changed: bring docs/zh/${page}#${id} up to date, then run node scripts/chinese-docs.ts docs/zh/${page}`,
      )
    expect(changed).toEqual([])
  })

  it('uses the words of the glossary', () => {
    expect(wrongWords(read(`docs/zh/${page}`))).toEqual([])
  })
})

it('the Chinese README uses the words of the glossary', () => {
  expect(wrongWords(read('README.zh-CN.md'))).toEqual([])
})

it('the glossary has every word of the concepts page, by the same name', () => {
  const words = [...read('docs/zh/concepts.md').matchAll(/^\| (\S+)（([\w -]+)） \|/gm)].map(
    ([, chinese, english]) => `${english}: ${chinese}`,
  )
  expect(words.length).toBeGreaterThan(30)
  const known = glossary.map(({ english, chinese }) => `${english.replace(/ \(.*/, '')}: ${chinese}`)
  expect(words.filter((word) => !known.includes(word))).toEqual([])
})

describe('a Chinese page that does not follow', () => {
  const english =
    '# Tools\n\nA `tool` has 2 parts ([more](flow.md)).\n\n```ts\nuse()\n```\n\n- **One**\n\n## Table\n\n| a | b |\n|---|---|\n| `x` | [y](../packages/kernel) |\n'
  const chinese =
    '# 工具 {#tools}\n\n`tool` 有 2 部分（[更多](flow.md)）。\n\n```ts\nuse()\n```\n\n- **一**\n\n## 表 {#table}\n\n| 甲 | 乙 |\n|---|---|\n| `x` | [丙](../../packages/kernel) |\n'
  const found = (from: string, to: string) => differences(english, chinese.replace(from, to), ['flow.md'])

  it('is told from one that does', () => {
    expect(found('', '')).toEqual([])
    expect(hashesOf(english.replace('2 parts ', '2 parts\n'))).toEqual(hashesOf(english))
    expect(Object.keys(hashesOf(english))).toEqual(['tools', 'table'])
    expect(hashesOf(english.replace('has', 'had')).tools).not.toBe(hashesOf(english).tools)
  })

  it.each([
    ['{#table}', '{#tabel}', ['no heading ## {#table}', '## {#tabel} is not a heading of the English page']],
    ['use()', 'use(1)', ['"Tools": code block 1 differs: copy it from the English page']],
    [
      '`tool`',
      '`tools`',
      ['"Tools": paragraph 1 leaves out `tool`', '"Tools": paragraph 1 has `tools`, which the English page does not'],
    ],
    [' 2 ', '两', ['"Tools": paragraph 1 leaves out 2']],
    [
      'flow.md',
      '../flow.md',
      [
        '"Tools": paragraph 1 leaves out ](flow.md)',
        '"Tools": paragraph 1 has ](../flow.md), which the English page does not',
      ],
    ],
    ['**一**', '一', ['"Tools": list item 1 leaves out **']],
    ['| `x` ', '', ['"Table": table row 2 has 1 cells instead of 2']],
    [
      '- **一**\n',
      '',
      ['"Tools": has paragraph, code block; the English section has paragraph, code block, list item'],
    ],
  ])('%s, which became %s, is found', (from, to, message) => {
    expect(found(from, to)).toEqual(message)
  })

  it('with a word of its own is found', () => {
    expect(wrongWords('线程和会话线程，`thread`（thread），agent')).toEqual([
      '线程: the glossary has 会话线程',
      'agent: the glossary has 智能体',
    ])
  })
})
