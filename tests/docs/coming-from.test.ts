import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Block, blocksOf, root } from './guide.fixture.ts'

const BEFORE = 'bench/peers/src/coming-from'
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const names = (pattern: string, end: string) =>
  globSync(pattern, { cwd: root })
    .map((path) => basename(path, end))
    .sort()

const pages = names('docs/coming-from/*.md', '.md')
const block = (page: string, kind: string): Block | undefined =>
  blocksOf(`docs/coming-from/${page}.md`).find((block) => block.kind === kind)

it('each framework has a page, a program, and a link on the page that lists them', () => {
  expect(pages.length).toBeGreaterThan(0)
  expect(names(`${BEFORE}/*.mjs`, '.mjs')).toEqual(pages)
  const linked = [...read('docs/coming-from.md').matchAll(/\]\(coming-from\/([\w-]+)\.md\)/g)].map(([, name]) => name)
  expect(linked.sort()).toEqual(pages)
})

describe.each(pages)('docs/coming-from/%s.md', (page) => {
  it(`shows the program of ${BEFORE} to the letter`, () => {
    expect(block(page, 'mjs')?.code).toBe(read(`${BEFORE}/${page}.mjs`))
  })

  it('shows what both programs print after the second', () => {
    const kinds = blocksOf(`docs/coming-from/${page}.md`).map(({ kind }) => kind)
    expect(kinds.filter((kind) => ['mjs', 'ts', 'text'].includes(kind))).toEqual(['mjs', 'ts', 'text'])
  })
})

it('every page has the same program with Troupe, which prints the same', () => {
  for (const kind of ['ts', 'text']) expect(new Set(pages.map((page) => block(page, kind)?.code)).size).toBe(1)
})
