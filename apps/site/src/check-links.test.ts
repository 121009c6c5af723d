import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { deadLinksIn } from './check-links.ts'

/** The dead links of a site of these files. */
function check(files: Readonly<Record<string, string>>, base?: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-site-'))
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    return deadLinksIn(folder, base)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const TARGET = '<h1 id="one">One</h1>'

it('follows links to pages, folders, sections and files', () => {
  const links = [
    './b/c.html',
    '/b/c.html#one',
    '/b/',
    '#here',
    '/mark.svg',
    'https://example.org/nothing',
    '/b/c.html?x=1',
  ]
  const page = `<p id="here">${links.map((link) => `<a href="${link}">x</a>`).join('')}</p>`
  expect(check({ 'a.html': page, 'b/c.html': TARGET, 'b/index.html': '', 'mark.svg': '' })).toEqual([])
})

it('finds dead links to pages, sections and files', () => {
  const page = '<a href="/nothing.html"></a><a href="b.html#two"></a><a href="#there"></a><img src="/nothing.png">'
  expect(check({ 'a.html': page, 'b.html': TARGET })).toEqual([
    'a.html: /nothing.html: no such page',
    'a.html: b.html#two: no such section',
    'a.html: #there: no such section',
    'a.html: /nothing.png: no such page',
  ])
})

it('a link past the base of the site is dead', () => {
  expect(check({ 'a.html': '<a href="/troupe/b.html"></a><a href="/b.html"></a>', 'b.html': '' }, '/troupe/')).toEqual([
    'a.html: /b.html: no such page',
  ])
})
