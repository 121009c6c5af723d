import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const { scripts, packageManager } = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>
  packageManager: string
}

/** Commands of pnpm itself. */
const BUILT_IN = ['exec', 'install']

/** The code in each line of a document: lines of blocks without their comments, and inline code. */
function codeOf(text: string): string[][] {
  let inBlock = false
  return text.split('\n').map((line) => {
    if (line.startsWith('```')) {
      inBlock = !inBlock
      return []
    }
    if (inBlock) return [line.replace(/#.*$/, '')]
    return [...line.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
  })
}

/** The words that look like files or folders of this repository; a folder of the root has a slash at its end. */
function pathsIn(code: readonly string[]): string[] {
  const words = code.flatMap((part) => part.split(/\s+/))
  return words.filter((word) => /^[\w.][\w.*-]*\/[\w./*-]*$|^[\w.-]+\.(md|ts|mjs|json)$/.test(word))
}

/** The scripts that a document runs with pnpm. */
function scriptsIn(text: string): string[] {
  const code = codeOf(text).flat()
  const runs = code.flatMap((part) => [...part.matchAll(/\bpnpm(?:@[\w.]+)? (?:run )?([\w:-]+)/g)])
  return runs.map(([, name = '']) => name).filter((name) => !BUILT_IN.includes(name))
}

/** Paths that are neither below the root, nor below a package or app, nor beside another path of the same line. */
function missingPaths(text: string): string[] {
  return codeOf(text).flatMap((code) => {
    const paths = pathsIn(code)
    const beside = paths.map((path) => path.slice(0, path.lastIndexOf('/') + 1))
    const folders = ['', '{packages,apps}/*/', ...beside]
    return paths.filter((path) => !folders.some((folder) => globSync(folder + path, { cwd: root }).length > 0))
  })
}

const pages = ['AGENTS.md', 'CONTRIBUTING.md'].map((page) => [page, read(page)] as const)

describe.each(pages)('%s', (_, text) => {
  it('names only paths that exist', () => {
    expect(codeOf(text).flatMap(pathsIn).length).toBeGreaterThan(2)
    expect(missingPaths(text)).toEqual([])
  })

  it('names only scripts of package.json', () => {
    const named = scriptsIn(text)
    expect(named.length).toBeGreaterThan(3)
    expect(named.filter((name) => !(name in scripts))).toEqual([])
  })

  it('names the pnpm of package.json', () => {
    const versions = [...text.matchAll(/pnpm@[\w.]+/g)].map(([version]) => version)
    expect(new Set(versions)).toEqual(new Set([packageManager]))
  })
})

it('a path, a glob or a script that does not exist is found', () => {
  expect(missingPaths('`packages/kernel/src/index.ts` and `run.ts`, `packages/nothing/src`')).toEqual([
    'packages/nothing/src',
  ])
  expect(missingPaths('`examples/*-plugin`, `examples/*-nothing`, `nothing.md`, `src/index.ts`, `nothing/`')).toEqual([
    'examples/*-nothing',
    'nothing.md',
    'nothing/',
  ])
  expect(missingPaths('```sh\npnpm test packages/nothing # docs/nothing\n```')).toEqual(['packages/nothing'])
  expect(scriptsIn('`pnpm nothing`\n```sh\nnpx -y pnpm@1.2.3 run version\npnpm exec biome\n```')).toEqual([
    'nothing',
    'version',
  ])
})
