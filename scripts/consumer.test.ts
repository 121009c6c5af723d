import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const kernel = join(root, 'packages/kernel')
let folder: string
let manifest: string

/** Packs the kernel with plain npm, from a copy of the tree, and installs it into an empty folder. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-consumer-'))
  const copy = mkdtempSync(join(tmpdir(), 'troupe-copy-'))
  execFileSync('pnpm', ['build'], { cwd: kernel })
  const parts = ['package.json', 'dist', 'README.md'].map((name) => `packages/kernel/${name}`)
  for (const path of ['LICENSE', 'scripts/manifest.mjs', ...parts]) {
    cpSync(join(root, path), join(copy, path), { recursive: true })
  }
  execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: join(copy, 'packages/kernel') })
  manifest = readFileSync(join(copy, 'packages/kernel/package.json'), 'utf8')
  rmSync(copy, { recursive: true })
  const [archive] = readdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${archive}`], { cwd: folder })
  writeFileSync(join(folder, 'main.ts'), readFileSync(join(root, 'examples/greeter/src/main.ts')))
  writeFileSync(
    join(folder, 'entries.ts'),
    `import type { AgentEvent, Json } from '@troupe/kernel'
import { defineTool, KernelError } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { memoryStore } from '@troupe/kernel/memory-store'

export const tool = defineTool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  invoke: ({ at }) => at.toUpperCase(),
})
export const json = (event: AgentEvent): Json => event
export const store = memoryStore()
export const messages = repairHistory([])
export const isKernelError = (error: unknown): boolean => KernelError.is(error, 'ABORTED')
`,
  )
})

afterAll(() => rmSync(folder, { recursive: true }))

describe('the kernel, packed and installed with npm into an empty folder', () => {
  it('brings no other package along', () => {
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@troupe'])
    expect(readdirSync(join(folder, 'node_modules/@troupe'))).toEqual(['kernel'])
  })

  it('leaves the manifest as it was', () => {
    expect(manifest).toBe(readFileSync(join(kernel, 'package.json'), 'utf8'))
  })

  it('holds the built code, its README and its licence, and no test', () => {
    const files = readdirSync(join(folder, 'node_modules/@troupe/kernel'), { recursive: true, encoding: 'utf8' })
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'LICENSE', 'package.json', 'dist/index.js', 'dist/index.d.ts']),
    )
    expect(files.filter((file) => file.includes('test') || file.startsWith('src'))).toEqual([])
  })

  it.each([
    ['nodenext', 'nodenext'],
    ['bundler', 'esnext'],
  ])('type-checks in a strict consumer with moduleResolution %s', (moduleResolution, module) => {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: 'es2024',
      lib: ['es2024', 'dom', 'esnext.disposable'],
    }
    const options = { ...compilerOptions, module, moduleResolution, types: [], exactOptionalPropertyTypes: true }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }))
    const compile = () => {
      try {
        return execFileSync(join(root, 'node_modules/.bin/tsc'), { cwd: folder, encoding: 'utf8' })
      } catch (error) {
        return (error as { stdout: string }).stdout
      }
    }
    expect(compile()).toBe('')
  })

  it('runs', () => {
    const printed = execFileSync(process.execPath, ['main.ts'], { cwd: folder, encoding: 'utf8' })
    expect(printed).toContain('text-delta You said: Hello!')
    execFileSync(process.execPath, ['entries.ts'], { cwd: folder })
  })
})
