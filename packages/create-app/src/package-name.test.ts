import { expect, it } from 'vitest'
import { packageName } from './package-name.ts'

it.each([
  ['my-app', 'my-app'],
  ['/tmp/deep/My App', 'my-app'],
  ['Töpfchen', 'topfchen'],
  ['日本', 'my-app'],
  ['.hidden', 'hidden'],
  ['--', 'my-app'],
  ['@acme/shop', 'shop'],
  ["it's (new)!", 'it-s-new'],
  ['v1.2', 'v1.2'],
  ['node_modules', 'node_modules-app'],
  ['http', 'http-app'],
  ['vitest', 'vitest-app'],
  ['a'.repeat(300), 'a'.repeat(210)],
])('the package in the folder %s is called %s', (folder, name) => {
  expect(packageName(folder, new Set(['vitest']))).toBe(name)
})

it('the package in the current folder is called like it', () => {
  expect(packageName('.', new Set())).toBe(packageName(process.cwd(), new Set()))
})
