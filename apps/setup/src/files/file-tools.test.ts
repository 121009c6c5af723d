import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tool } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { testTool } from '@troupe/testkit'
import { afterAll, expect, it } from 'vitest'
import { fileTools } from './file-tools.ts'
import { CAN_OPEN_BELOW, FolderHandle } from './folder-handle.ts'
import { ProjectFolder } from './project-folder.ts'

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
mkdirSync(join(root, '.git'))
writeFileSync(join(root, 'troupe.db'), 'login')
writeFileSync(join(root, 'src/huge.txt'), 'x'.repeat(300_000))
symlinkSync(join(root, '.env'), join(root, 'way-hidden'))
execFileSync('mkfifo', [join(root, 'pipe')])
afterAll(() => rmSync(place, { recursive: true }))

const tools = fileTools(root)
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
  expect(await ask('list_files', {})).toBe('README.md\nsrc/auth.ts\nsrc/binary.bin\nsrc/huge.txt\nsrc/deep/long.txt')
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

const HIDDEN = [
  '.env',
  '.git/config',
  'node_modules/lib/index.js',
  'Node_Modules/x',
  'dist/a.js',
  'troupe.db',
  'data/chat.SQLite3',
  'troupe.db-wal',
  'way-hidden',
]
it.each(HIDDEN)('refuses %s, whether it is there or not', async (path) => {
  const why = { code: 'TOOL_FAILED', message: expect.stringContaining('which are not read') }
  await expect(ask('read_file', { path })).rejects.toMatchObject(why)
  await expect(ask('list_files', { under: path })).rejects.toMatchObject(why)
})

it.each(['pipe', '/dev/zero', '/dev/tty'])('never opens %s', async (path) => {
  await expect(ask('read_file', { path })).rejects.toMatchObject({ code: 'TOOL_FAILED' })
})

it('shows no path of this machine in an error', async () => {
  const paths = [
    'none',
    'src',
    'src/auth.ts/x',
    'link.txt',
    'a\0b',
    outside,
    join(root, 'none'),
    'src/binary.bin',
    'pipe',
    '.env',
    'locked/x',
  ]
  for (const path of paths) {
    for (const call of [() => ask('read_file', { path }), () => ask('list_files', { under: path })]) {
      const error = await call().then(String, ({ message, cause }: Error) => `${message} ${String(cause)}`)
      expect(error).not.toContain(place)
    }
  }
})

it('reads no file that is too long', async () => {
  await expect(ask('read_file', { path: 'src/huge.txt' })).rejects.toThrow('is too long')
  expect(await ask('search_files', { text: 'xxxx' })).toBe('Nothing contains "xxxx".')
})

it.runIf(CAN_OPEN_BELOW)('an open folder stays the same when a link takes its place', async () => {
  const swapped = join(root, 'swapped')
  mkdirSync(swapped)
  writeFileSync(join(swapped, 'key.txt'), 'mine')
  const handle = await FolderHandle.open(root)
  const folder = await handle.folder('swapped')
  renameSync(swapped, join(root, 'moved'))
  symlinkSync(join(place, 'project-secrets'), swapped)
  const file = await folder.file('key.txt')
  expect(await file?.readFile('utf8')).toBe('mine')
  await expect(handle.folder('swapped')).rejects.toMatchObject({ code: expect.stringMatching(/ELOOP|ENOTDIR/) })
  await Promise.all([file?.close(), folder.close(), handle.close()])
  rmSync(swapped)
  rmSync(join(root, 'moved'), { recursive: true })
})

it.each([true, false])(
  'a folder that is swapped again and again never leads outside (relative to a handle: %s)',
  async (below) => {
    const folder = new ProjectFolder(root, below && CAN_OPEN_BELOW)
    const [here, away] = [join(root, 'turning'), join(root, 'turned')]
    mkdirSync(here)
    writeFileSync(join(here, 'key.txt'), 'mine')
    const seen = new Set<string>()
    for (let i = 0; i < 200; i++) {
      const reading = folder.read('turning/key.txt').catch(() => 'refused')
      if (i % 20 === 19) await reading
      for (let turn = 0; turn < (i % 20) * 8; turn++) await new Promise(setImmediate)
      renameSync(here, away)
      symlinkSync(join(place, 'project-secrets'), here)
      const listing = Array.fromAsync(folder.files(new AbortController().signal, 'turning')).catch(() => [])
      seen.add(await reading)
      rmSync(here)
      renameSync(away, here)
      for (const path of await listing) seen.add(path)
    }
    rmSync(here, { recursive: true })
    expect([seen.has('SECRET'), seen.has('mine')]).toEqual([false, true])
  },
)
