import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FEATURE_OF } from '../../packages/ag-ui/src/translate/feature-of.ts'
import { ASSUMED_VERSION, SINCE } from '../../packages/ag-ui/src/write/understood.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/ag-ui-events.md'), 'utf8')
const section = page.slice(page.indexOf('## Older clients'))
const rows = [...section.matchAll(/^\| 0\.0\.(\d+): (.*?) \|/gm)].map(([, since, what = '']) => ({
  since: Number(since),
  what,
}))

test('the table of older clients has each feature, with the version that the server uses', () => {
  expect(rows.map(({ since }) => since)).toEqual(Object.values(SINCE))
})

test('and each kind of event that is kept from some of them', () => {
  for (const [type, feature] of Object.entries(FEATURE_OF)) {
    const row = rows.find(({ since, what }) => since === SINCE[feature] && what.includes(type.split('_')[0] ?? ''))
    expect(row, type).toBeDefined()
  }
})

test('the page names the version that a client without one is taken for', () => {
  expect(section).toContain(`so they are taken for ${ASSUMED_VERSION}`)
})
