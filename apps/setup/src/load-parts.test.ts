import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { loadParts } from './load-parts.ts'

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'troupe-parts-'))
})
afterEach(() => rm(home, { recursive: true }))

async function load(files: Record<string, string>): Promise<unknown[]> {
  await mkdir(join(home, 'agents'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, 'agents', name), text)
  const makers = await loadParts<() => unknown>(pathToFileURL(`${join(home, 'agents')}/`), 'agent')
  return makers.map((make) => make())
}

it('loads one part from each file, in the order of their names, and neither tests nor declarations', async () => {
  const parts = await load({
    'b.ts': "export const agent = (): string => 'b'",
    'a.js': "export function agent() { return 'a' }",
    'c.d.ts': 'export {}',
    'b.test.ts': "throw new Error('a test')",
    'notes.md': '# Notes',
  })
  expect(parts).toEqual(['a', 'b'])
})

it('finds nothing in a folder that is missing', async () => {
  expect(await loadParts(pathToFileURL(`${home}/nowhere/`), 'agent')).toEqual([])
})

it.each([
  ['export const agnet = () => 1', 'agents/poem.ts: expected an exported function named agent, the file exports agnet'],
  ['const agent = () => 1', 'agents/poem.ts: expected an exported function named agent, the file exports nothing'],
  ['export const agent = { name: 1 }', 'agents/poem.ts: expected an exported function named agent, got object'],
  ["throw new Error('no ink')", 'agents/poem.ts: cannot be loaded: no ink'],
  ["import 'nowhere-at-all'", 'agents/poem.ts: cannot be loaded: '],
])('names the file that cannot be used: %s', async (text, message) => {
  await expect(load({ 'poem.ts': text })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(message),
  })
})
