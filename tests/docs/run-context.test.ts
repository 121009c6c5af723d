import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './guide.fixture.ts'

const source = readFileSync(join(root, 'packages/kernel/src/context/context.ts'), 'utf8')
const page = readFileSync(join(root, 'docs/run-context.md'), 'utf8')

const [, body = ''] = /^export interface RunContext \{\n(.*?)^\}/ms.exec(source) ?? []
const declared = [...body.matchAll(/^ {2}(?:readonly )?(\w+)(?:<[^(]*>)?[:(]/gm)].map(([, name = '']) => name)
const rows = [...page.matchAll(/^\| `(\w+)` \| [^|]+ \| `(.+)` \|$/gm)]

it('the page has every member of RunContext once, and no other', () => {
  expect(declared.length).toBeGreaterThan(15)
  expect(rows.map(([, name = '']) => name).sort()).toEqual([...declared].sort())
})

it('every example uses its member', () => {
  for (const [, name = '', example = ''] of rows) expect(example).toContain(`ctx.${name}`)
})
