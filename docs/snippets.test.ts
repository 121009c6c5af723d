import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const pages = globSync('{*.md,docs/**/*.md,packages/*/README.md,examples/*/README.md}', { cwd: root })

/** Every block marked `ts`; one marked `ts fragment` is a part of something and stands for itself. */
const snippets = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ''], i) => ({ page, code, name: `${page}-${i}` }))
})

it('type-checks every TypeScript snippet of the documents', () => {
  expect(snippets.length).toBeGreaterThan(3)
  const folder = mkdtempSync(join(tmpdir(), 'troupe-snippets-'))
  try {
    for (const { name, code } of snippets) {
      writeFileSync(join(folder, `${name.replaceAll(/[^\w-]/g, '_')}.ts`), `${code}\nexport {}\n`)
    }
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    // The outside libraries that snippets show.
    symlinkSync(join(root, 'examples/weather/node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config()))
    expect(compile(folder)).toBe('')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

function config(): object {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.base.json'), 'utf8'))
  const packages = globSync('{packages,examples}/*/package.json', { cwd: root }).flatMap((path) => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8'))
    const folder = join(root, path, '..')
    return Object.entries(exports as Record<string, string | { types: string }>).map(([entry, file]) => [
      join(name, entry).replaceAll('\\', '/'),
      [join(folder, typeof file === 'string' ? file : sourceOf(file.types))],
    ])
  })
  const typeRoots = [join(root, 'node_modules/@types')]
  const options = { ...compilerOptions, paths: Object.fromEntries(packages), typeRoots, isolatedDeclarations: false }
  return { compilerOptions: { ...options, declaration: false }, include: ['*.ts'] }
}

/** The template exports what npm publishes, which is not built here. */
function sourceOf(types: string): string {
  return types.replace('./dist/', './src/').replace('.d.ts', '.ts')
}

function compile(cwd: string): string {
  try {
    return execFileSync(join(root, 'node_modules/.bin/tsc'), { cwd, encoding: 'utf8' })
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}
