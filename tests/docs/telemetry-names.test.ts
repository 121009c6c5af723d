import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ATTR, METRIC, OPERATION } from '../../packages/otel/src/conventions.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const README = read('packages/otel/README.md')
const GUIDE = read('docs/observability.md')

/** The names of a section's table: what its first column has in backticks. */
function namesIn(section: string): readonly string[] {
  const [, text = ''] = README.split(`## ${section}\n`)
  const [table = ''] = text.split('\n## ')
  return [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name)
}

test('the README has every span and every metric, and no others', () => {
  expect(namesIn('Spans').map((name) => name.split(' ')[0])).toEqual(Object.values(OPERATION))
  expect(namesIn('Metrics').toSorted()).toEqual(Object.values<string>(METRIC).toSorted())
})

test('names of attributes and metrics in the pages exist', () => {
  const known: readonly string[] = [...Object.values(ATTR), ...Object.values(METRIC)]
  const used = [...`${README}${GUIDE}`.matchAll(/`((?:gen_ai|troupe|error)\.[a-z_.]+[a-z])`/g)].map(([, name]) => name)
  expect(used.filter((name) => !known.includes(name ?? ''))).toEqual([])
  expect(used.length).toBeGreaterThan(10)
})

test('each name is written once', () => {
  const source = read('packages/otel/src/conventions.ts')
  const names = [...source.matchAll(/'((?:gen_ai|troupe|error)\.[a-z_.]+)'/g)].map(([, name]) => name)
  expect(names).toHaveLength(new Set(names).size)
})
