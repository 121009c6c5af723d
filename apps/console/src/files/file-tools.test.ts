import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tool } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { testTool } from '@troupe/testkit'
import { afterAll, expect, it } from 'vitest'
import { fileTools } from './file-tools.ts'
import { Folder } from './folder.ts'

const place = mkdtempSync(join(tmpdir(), 'troupe-files-'))
const root = join(place, 'project')
const outside = join(place, 'outside.txt')
mkdirSync(join(root, 'src/deep'), { recursive: true })
mkdirSync(join(root, 'node_modules/lib'), { recursive: true })
mkdirSync(join(place, 'project-secrets'))
writeFileSync(outside, 'SECRET')
writeFileSync(join(place, 'project-secrets/key.txt'), 'SECRET')
writeFileSync(join(root, 'README.md'), '# Project\n\nlogin is in src/auth.ts\n')
writeFileSync(join(root, 'src/auth.ts'), 'export function login() {}\n')
writeFileSync(join(root, 'src/deep/long.txt'), Array.from({ length: 300 }, (_, i) => `line ${i + 1}`).join('\n'))
writeFileSync(join(root, 'src/binary.bin'), Buffer.from([1, 0, 2]))
writeFileSync(join(root, 'node_modules/lib/index.js'), 'login')
writeFileSync(join(root, '.env'), 'login SECRET')
symlinkSync(outside, join(root, 'link.txt'))
symlinkSync(place, join(root, 'way-out'))
symlinkSync(join(root, 'src'), join(root, 'way-in'))
afterAll(() => rmSync(place, { recursive: true }))

const tools = fileTools(new Folder(root))
const toolOf = (name: string) => tools.find((tool) => tool.name === name) as Tool
const ask = async (name: string, args: object) => {
  const call = { name, arguments: '', callId: 'c1', step: '', idempotencyKey: 'k' }
  return toolOf(name).invoke?.(args, createRunContext(), call)
}

testTool('list_files', () => toolOf('list_files'), { args: {}, invalid: [{ under: 1 }, { under: '' }] })
testTool('search_files', () => toolOf('search_files'), { args: { text: 'login' }, invalid: [{}, { text: '' }] })
testTool('read_file', () => toolOf('read_file'), {
  args: { path: 'README.md' },
  invalid: [{}, { path: 'README.md', from: 0 }],
})

it('lists and searches what is written there, not what is installed, hidden or linked', async () => {
  expect(await ask('list_files', {})).toBe('README.md\nsrc/auth.ts\nsrc/binary.bin\nsrc/deep/long.txt')
  expect(await ask('list_files', { under: 'src/deep' })).toBe('src/deep/long.txt')
  expect(await ask('search_files', { text: 'login' })).toBe(
    'README.md:3: login is in src/auth.ts\nsrc/auth.ts:1: export function login() {}',
  )
  expect(await ask('search_files', { text: 'SECRET' })).toBe('Nothing contains "SECRET".')
})

it('reads a long file in parts', async () => {
  expect(await ask('read_file', { path: 'src/deep/long.txt' })).toMatch(/^line 1\n.*line 200\n\(100 more lines\)$/s)
  expect(await ask('read_file', { path: 'src/deep/long.txt', from: 299 })).toBe('line 299\nline 300')
})

it.each([
  '../outside.txt',
  'src/../../outside.txt',
  outside,
  '../project-secrets/key.txt',
  'link.txt',
  'way-out/outside.txt',
  'way-out/project-secrets/key.txt',
  '..',
])('does not leave its folder by %s', async (path) => {
  const why = { code: 'TOOL_FAILED', message: expect.stringContaining('is outside the folder') }
  await expect(ask('read_file', { path })).rejects.toMatchObject(why)
  if (path !== 'link.txt')
    await expect(ask('list_files', { under: path })).rejects.toMatchObject({ code: 'TOOL_FAILED' })
})

it('follows a link that stays inside, and says what it cannot read', async () => {
  expect(await ask('read_file', { path: 'way-in/auth.ts' })).toContain('login')
  await expect(ask('read_file', { path: 'nowhere.ts' })).rejects.toThrow('does not exist')
  await expect(ask('read_file', { path: 'src' })).rejects.toThrow(/is not a file|EISDIR/)
  await expect(ask('read_file', { path: 'src/binary.bin' })).rejects.toThrow('is not a text file')
  await expect(ask('read_file', { path: 'a\0b' })).rejects.toMatchObject({ code: 'TOOL_FAILED' })
})
