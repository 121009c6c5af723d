/** Tests that need built packages: how errors look in a log, and the message on an old Node. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const NEEDED = '@troupe/kernel needs Node 22.18 or later; this is Node '
let folder: string

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly publishConfig?: { readonly exports?: Readonly<Record<string, unknown>> }
}

/** The packages that others import, with their folders. */
const packages = readdirSync(join(root, 'packages')).flatMap((name) => {
  const source = join(root, 'packages', name)
  const manifest: Manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  return manifest.publishConfig?.exports ? [{ source, manifest, exports: manifest.publishConfig.exports }] : []
})
const entries = packages.flatMap(({ manifest, exports }) =>
  Object.keys(exports)
    .filter((path) => path !== './package.json' && !path.endsWith('.css'))
    .map((path) => join(manifest.name, path)),
)

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-built-'))
  for (const { source, manifest, exports } of packages) {
    const target = join(folder, 'node_modules', manifest.name)
    const output = join(target, 'dist')
    const options = {
      cwd: source,
      env: { ...process.env, PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH}` },
    }
    execFileSync('tsup', ['--no-dts', '--silent', '--out-dir', output], options)
    writeFileSync(join(target, 'package.json'), JSON.stringify({ name: manifest.name, type: 'module', exports }))
    for (const library of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) {
      const installed = join(source, 'node_modules', library)
      if (library.startsWith('@troupe/') || !existsSync(installed)) continue
      const link = join(target, 'node_modules', library)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(installed, link)
    }
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program and returns its output, on stdout and stderr. */
function run(program: string, node: string = process.execPath, ...flags: readonly string[]): string {
  const file = join(folder, 'program.mjs')
  writeFileSync(file, program)
  const { stdout, stderr } = spawnSync(node, [...flags, file], { cwd: folder, encoding: 'utf8' })
  return stdout + stderr
}

describe('a KernelError of the built kernel', () => {
  const make = `
    import { KernelError } from '@troupe/kernel'
    const cause = new TypeError('the disk is full')
    const error = new KernelError('RECORDS_PENDING', 'persistence: 3 are not written', { cause, details: { pending: 3 } })`

  test.each([
    ['logged', 'console.log(error)'],
    ['thrown and not caught', 'throw error'],
    ['rejected and not caught', 'Promise.reject(error)'],
    ['made of another error', "console.log(KernelError.within('agent a: ', error, 'AGENT_FAILED'))"],
  ])('shows its name, code, message, details and cause when it is %s', (_, code) => {
    const printed = run(`${make}\n${code}`)
    expect(printed).toContain('KernelError: ')
    expect(printed).not.toContain('_KernelError')
    expect(printed).toContain('persistence: 3 are not written')
    expect(printed).toContain("code: 'RECORDS_PENDING'")
    expect(printed).toContain('details: { pending: 3 }')
    expect(printed).toContain('[cause]: TypeError: the disk is full')
  })

  test('has this name in its class and as text', () => {
    const printed = run(`${make}\nconsole.log(KernelError.name, error.name, error.constructor.name, String(error))`)
    expect(printed.trim()).toBe('KernelError KernelError KernelError KernelError: persistence: 3 are not written')
  })
})

const importing = (entry: string) => `
  const failure = await import('${entry}').then(() => new Error('it was imported'), (error) => error)
  console.log(failure.message)`

/** Entries that do not load the kernel's engine and run anywhere. */
const ALONE = ['@troupe/kernel/history', '@troupe/ag-ui/client', '@troupe/react']

describe('on a Node that is too old the first import says which one is needed', () => {
  const checked = entries.filter((entry) => !ALONE.includes(entry))

  test.each(checked)('%s, where Node says that it is old', (entry) => {
    const preload = join(folder, 'old.mjs')
    const versions = "{ ...process.versions, node: '20.11.1' }"
    writeFileSync(preload, `Object.defineProperty(process, 'versions', { value: ${versions} })`)
    expect(run(importing(entry), process.execPath, '--import', preload)).toBe(`${NEEDED}20.11.1.\n`)
  })

  const old = oldNode()
  test.skipIf(!old).each(checked)('%s, on a Node that is old', (entry) => {
    expect(run(importing(entry), old?.path)).toBe(`${NEEDED}${old?.version}.\n`)
  })
})

/** Finds a Node on this machine that is too old, if there is one. */
function oldNode(): { readonly path: string; readonly version: string } | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    if (folder.includes('node_modules') || !existsSync(path)) continue
    const version = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout?.trim().slice(1)
    const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
    if (version && (major < 22 || (major === 22 && minor < 18))) return { path, version }
  }
  return undefined
}
