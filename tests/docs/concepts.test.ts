import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './guide.fixture.ts'

const page = readFileSync(join(root, 'docs/concepts.md'), 'utf8')
const rows = [...page.matchAll(/^\| ([a-z][\w -]*) \| ([A-Z][^|]*) \| (?:`(\w+)` )?\|$/gm)].map(
  ([, word = '', meaning = '', type]) => ({ word, meaning, type }),
)
const entries = globSync('packages/kernel/src/*.ts', { cwd: root }).filter((file) => !/\.(test|fixture)\./.test(file))
const exported = new Set(entries.flatMap((file) => readFileSync(join(root, file), 'utf8').match(/\w+/g) ?? []))

it('has at most 40 words, each once and in one sentence', () => {
  expect(page.match(/^\| /gm)?.length).toBe(rows.length + page.split('| word |').length - 1)
  expect(rows.length).toBeGreaterThan(30)
  expect(rows.length).toBeLessThanOrEqual(40)
  expect(new Set(rows.map(({ word }) => word)).size).toBe(rows.length)
  expect(rows.filter(({ meaning }) => !/^[^.]*\.$/.test(meaning))).toEqual([])
})

it('names only types that the kernel exports', () => {
  const types = rows.flatMap(({ type }) => type ?? [])
  expect(types.length).toBeGreaterThan(20)
  expect(types.filter((type) => !exported.has(type))).toEqual([])
})
