import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tool } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectFileTools } from './project-files.ts'

let place: string
let tools: readonly Tool[]

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'troupe-files-'))
  for (const folder of ['in/src', 'in/node_modules', 'in/.git', 'in-too']) {
    await mkdir(join(place, folder), { recursive: true })
  }
  const files = [
    'in/b.ts',
    'in/src/a.ts',
    'in/node_modules/x.ts',
    'in/.git/y.ts',
    'in/.env.ts',
    'in-too/z.ts',
    'out.ts',
  ]
  for (const path of files) await writeFile(join(place, path), `first\n  secret ${path}\n`)
  await writeFile(join(place, 'in/big.ts'), 'x'.repeat(300_000))
  await symlink(join(place, 'out.ts'), join(place, 'in/link.ts'))
  tools = projectFileTools(join(place, 'in'))
})

afterAll(() => rm(place, { recursive: true, force: true }))

function call(name: string, args: object): Promise<unknown> {
  const tool = tools.find((each) => each.name === name) as Tool
  const input = { name, arguments: JSON.stringify(args), callId: 'c', step: 's', idempotencyKey: 'k' }
  return Promise.resolve(tool.invoke?.(args, createRunContext(), input))
}

describe('the files of a project', () => {
  test('are searched in order, with file and line; hidden ones and links out of it are not there', async () => {
    expect(await call('search_files', { text: 'secret' })).toBe(
      'b.ts:2: secret in/b.ts\nsrc/a.ts:2: secret in/src/a.ts',
    )
    expect(await call('search_files', { text: 'nowhere' })).toBe('Nothing contains "nowhere".')
  })

  test('are read from a line on', async () => {
    expect(await call('read_file', { path: 'src/a.ts', from: 2 })).toBe('  secret in/src/a.ts\n')
    expect(await call('read_file', { path: 'src/../b.ts' })).toContain('first')
    expect(await call('read_file', { path: 'b.ts', from: 99 })).toBe('The file has no such lines.')
  })

  test.each([
    '../out.ts',
    '../in-too/z.ts',
    'link.ts',
    '.env.ts',
    '.git/y.ts',
    'node_modules/x.ts',
    'none.ts',
    '.',
    '/etc/passwd',
  ])('%s is none of them', async (path) => {
    await expect(call('read_file', { path })).rejects.toMatchObject({ code: 'TOOL_FAILED' })
  })

  test('that are very long are refused', async () => {
    await expect(call('read_file', { path: 'big.ts' })).rejects.toThrow('too long')
  })
})
