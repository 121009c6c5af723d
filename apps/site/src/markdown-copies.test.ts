import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { linkMarkdownCopies } from './markdown-copies.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-site-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function site(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

it('links of Markdown lead to Markdown, to a page without it, and to files, from wherever they are', () => {
  const text =
    '[a](/docs/tools#b) [c](/docs/recipes/index.md) [d](/zh/) [e](/docs/picture.png) [f](https://a.b/c) `[g](/h)`'
  site({
    'api/flow/runner.md': text,
    'docs/tools.md': '',
    'docs/tools.html': '',
    'docs/recipes.md': '',
    'zh/index.html': '',
    'docs/picture.png': '',
  })
  expect(linkMarkdownCopies(folder)).toEqual([])
  expect(readFileSync(join(folder, 'api/flow/runner.md'), 'utf8')).toBe(
    '[a](../../docs/tools.md#b) [c](../../docs/recipes.md) [d](../../zh/index.html) [e](../../docs/picture.png) [f](https://a.b/c) `[g](/h)`',
  )
})

it('links that lead nowhere are told', () => {
  site({ 'index.md': '[a](/docs/none.md)' })
  expect(linkMarkdownCopies(folder)).toEqual(['index.md: /docs/none.md: no such page'])
})
