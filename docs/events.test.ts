import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './guide.fixture.ts'

const source = readFileSync(join(root, 'packages/kernel/src/data/event.ts'), 'utf8')
const page = readFileSync(join(root, 'docs/events.md'), 'utf8')

/** The fields of a declaration. */
function fieldsOf(declaration: string): string[] {
  return [...declaration.matchAll(/readonly (\w+)\??:/g)].map(([, name = '']) => name)
}

/** The text of a declared type. */
function declarationOf(name: string): string {
  const [, body] = new RegExp(`^export type ${name}(?:<.*?>)? =(.*?)(?=^/\\*\\*|^export )`, 'ms').exec(source) ?? []
  if (body === undefined) throw new Error(`event.ts: there is no type ${name}`)
  return body
}

const [, fields = ''] = /^interface EventFields \{\n(.*?)^\}/ms.exec(source) ?? []
const declared = fields
  .split(/^ {2}\/\*\*.*\n/m)
  .slice(1)
  .map((member) => {
    const [, type, declaration = ''] = /^ {2}'?([\w-]+)'?: (.*)/s.exec(member) ?? []
    const result = declaration.includes('RunResult') ? fieldsOf(declarationOf('RunResult')) : []
    return { type, fields: [...fieldsOf(declaration), ...result.filter((field) => field !== 'messages')].sort() }
  })

const [, table = ''] = /^## The table\n(.*?)^## /ms.exec(page) ?? []
const documented = [...table.matchAll(/^\| `([\w-]+)` \|[^|]+\|([^|]*)\|/gm)].map(([, type, cell = '']) => ({
  type,
  // What stands behind a colon says what a field holds.
  fields: [...cell.replaceAll(/: [^|]*$/g, '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name).sort(),
}))

it('the page lists every event of the kernel with all of its fields, and no other, in the order of the type', () => {
  expect(declared.length).toBeGreaterThan(15)
  expect(documented).toEqual(declared)
})

it('the page lists every field of the stamp', () => {
  const [, stamp = ''] = /^## Every event\n(.*?)^## /ms.exec(page) ?? []
  const fields = [...stamp.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(fields).toEqual(['type', ...fieldsOf(declarationOf('EventStamp'))])
})
