import { expect, it } from 'vitest'
import { publicExports } from './exports.ts'
import { readApiPages } from './topics.ts'

const entries = publicExports()
const pages = readApiPages(entries)

it('every export is on one page', () => {
  const ids = pages.flatMap(({ entryName, exports }) => exports.map(({ name }) => `${entryName} ${name}`))
  const expected = entries.flatMap(({ entry, exports }) => exports.map(({ name }) => `${entry.name} ${name}`))
  expect(ids.sort()).toEqual(expected.sort())
})

it('every page has an address of its own', () => {
  const paths = pages.map(({ path }) => path)
  expect(new Set(paths).size).toBe(paths.length)
})
