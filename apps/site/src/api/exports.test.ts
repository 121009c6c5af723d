import { expect, it } from 'vitest'
import { publicExports } from './exports.ts'

const entries = publicExports()
const all = entries.flatMap(({ entry, exports }) => exports.map((one) => ({ ...one, id: `${entry.name} ${one.name}` })))

it('every export of every published package has a doc comment', () => {
  expect(all.length).toBeGreaterThan(500)
  expect(all.filter(({ isExplained }) => !isExplained).map(({ id, file }) => `${id} (${file})`)).toEqual([])
})

it('knows types, values and examples', () => {
  const found = (id: string) => all.find((one) => one.id === id)
  expect(found('@troupe/kernel defineTool')).toMatchObject({ isType: false, isExplained: true })
  expect(found('@troupe/kernel Tool')).toMatchObject({ isType: true })
  expect(found('@troupe/flow runner')).toMatchObject({ hasExample: true, file: 'packages/flow/src/runner/runner.ts' })
})

it('has no private package', () => {
  expect(entries.map(({ entry }) => entry.name)).not.toContain('@troupe/store-sql')
})
