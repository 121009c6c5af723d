import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, code]) => code)

const documented = all(read('docs/errors.md'), /^\| `([A-Z_]+)` \|/gm)
const [, union = ''] = /type KernelErrorCode =([^/]*)/.exec(read('packages/kernel/src/data/kernel-error.ts')) ?? []
const declared = all(union, /'([A-Z_]+)'/g)
const sources = globSync('{packages,apps}/*/src/**/*.{ts,tsx}', { cwd: root }).filter(
  (path) => !path.includes('.test.'),
)
const thrown = sources.flatMap((path) => all(read(path), /new KernelError\(\s*'([A-Z_]+)'/g))

it('lists every code once, in alphabetical order', () => {
  expect(documented.length).toBeGreaterThan(0)
  expect(documented).toEqual([...new Set(documented)].sort())
})

it('lists every code that the kernel declares', () => {
  expect(declared.length).toBeGreaterThan(0)
  expect(declared.filter((code) => !documented.includes(code))).toEqual([])
})

it('lists every code that is thrown anywhere', () => {
  expect(thrown.length).toBeGreaterThan(0)
  expect([...new Set(thrown)].filter((code) => !documented.includes(code))).toEqual([])
})

it('lists no code that is neither declared by the kernel nor thrown', () => {
  expect(documented.filter((code) => !declared.includes(code) && !thrown.includes(code))).toEqual([])
})
