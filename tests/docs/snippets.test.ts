import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { blocksOf, importsOf, link, root } from './guide.fixture.ts'

// The Chinese pages have the code of the English ones: `scripts/chinese-docs.test.ts`.
const pages = globSync(
  '{*.md,docs/**/*.md,skills/**/*.md,templates/*/AGENTS.md,apps/site/pages/**/*.md,packages/*/README.md,examples/*/README.md}',
  { cwd: root, exclude: ['docs/zh/**'] },
)

/** Every block marked `ts` or `tsx`; a block marked `ts fragment` is not compiled. */
const snippets = pages.flatMap((page) =>
  blocksOf(page)
    .filter(({ kind }) => kind === 'ts' || kind === 'tsx')
    .map(({ kind, code, file }, i) => ({ path: `${page.replaceAll(/\W/g, '_')}/${file ?? `${i}.${kind}`}`, code })),
)

it('type-checks every TypeScript snippet of the documents', () => {
  expect(snippets.length).toBeGreaterThan(3)
  // Of two files with the same name on a page only one would be compiled.
  expect(new Set(snippets.map(({ path }) => path)).size).toBe(snippets.length)
  const folder = mkdtempSync(join(tmpdir(), 'troupe-snippets-'))
  try {
    for (const { path, code } of snippets) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), `${code}\nexport {}\n`)
    }
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    // The published package has types for its style sheet.
    writeFileSync(join(folder, 'style.d.ts'), "declare module '@troupe/react/style.css'\n")
    const packages = ours()
    for (const name of snippets.flatMap(({ code }) => importsOf(code))) if (!(name in packages)) link(folder, name)
    for (const name of ['react', 'react-dom', 'express']) link(folder, `@types/${name}`)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config(packages)))
    expect(compile(folder)).toBe('')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('shows the same code in both languages of the README', () => {
  const code = (page: string) => blocksOf(page).map(({ kind, code }) => ({ kind, code }))
  expect(code('README.md').length).toBeGreaterThan(3)
  expect(code('README.zh-CN.md')).toEqual(code('README.md'))
})

/** The source files of our packages, by entry. */
function ours(): Record<string, readonly string[]> {
  const packages = globSync('{packages,examples}/*/package.json', { cwd: root }).flatMap((path) => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8'))
    const folder = join(root, path, '..')
    return Object.entries(exports as Record<string, string | { types: string }>).map(([entry, file]) => [
      join(name, entry).replaceAll('\\', '/'),
      [join(folder, typeof file === 'string' ? file : sourceOf(file.types))],
    ])
  })
  return Object.fromEntries(packages)
}

function config(paths: Record<string, readonly string[]>): object {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.base.json'), 'utf8'))
  const typeRoots = [join(root, 'node_modules/@types')]
  const lib = [...compilerOptions.lib, 'dom', 'dom.iterable']
  const options = { ...compilerOptions, lib, jsx: 'react-jsx', paths, typeRoots, isolatedDeclarations: false }
  return { compilerOptions: { ...options, declaration: false }, include: ['**/*.ts', '**/*.tsx'] }
}

/** A template exports its build, which does not exist here. */
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
