import { cpSync, existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { execute, machine } from './machine.ts'
import type { Registry } from './registry.ts'

/** What a `package.json` says, as far as it matters here. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports?: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: true }>>
}

/** A package that is not private, and where it stands. */
export interface Released extends Manifest {
  readonly folder: string
}

const root = resolve(import.meta.dirname, '../..')
const MADE = new Set(['.git', '.turbo', 'node_modules', 'dist', 'coverage'])

/** Copies this tree without what was installed and built, and gives the copy its next version: what is committed before a release. */
export async function nextVersion(tree: string): Promise<void> {
  cpSync(root, tree, { recursive: true, filter: (path) => !MADE.has(basename(path)) })
  await execute(tree, process.env, 'pnpm', ['install', '--frozen-lockfile', '--prefer-offline'])
  await execute(tree, process.env, 'pnpm', ['run', 'version'])
}

/** Builds and publishes a tree the way we release it. */
export async function release(tree: string, home: string, { url, npmrc }: Registry): Promise<string> {
  const publisher = machine(home, npmrc, {
    PATH: process.env.PATH ?? '',
    TURBO_TELEMETRY_DISABLED: '1',
    // What is built once is not built again in the next run of this test.
    TURBO_CACHE_DIR: join(root, '.turbo/cache'),
    // It was installed with the store of the machine, which is not in this home.
    pnpm_config_verify_deps_before_run: 'false',
  })
  for (const tool of ['npm', 'pnpm']) {
    const found = (await publisher.run(tree, tool, 'config', 'get', 'registry')).trim()
    if (found !== url) throw new Error(`${tool} would publish to ${found} instead of ${url}: nothing was published.`)
  }
  return await publisher.run(tree, 'pnpm', 'run', 'release', '--no-git-tag')
}

/** The packages of a tree that are published. */
export function releasedPackages(tree: string): Released[] {
  return globSync('{packages,examples,apps}/*/package.json', { cwd: tree })
    .map((path) => ({ ...JSON.parse(readFileSync(join(tree, path), 'utf8')), folder: join(tree, dirname(path)) }))
    .filter((manifest) => manifest.private !== true)
}

/** Files that packing brings and takes away again, unless the package has them itself. */
export function extrasOf({ folder }: Released): string[] {
  return ['LICENSE', 'package.json.backup'].map((file) => join(folder, file)).filter((file) => existsSync(file))
}

/** The text of a package's manifest. */
export function manifestOf({ folder }: Released): string {
  return readFileSync(join(folder, 'package.json'), 'utf8')
}
