import { cpSync, existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { execute, machine } from './machine.ts'
import type { Registry } from './registry.ts'

/** The fields of a `package.json` that matter here. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports?: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: true }>>
}

/** A package that is not private, with its folder. */
export interface Released extends Manifest {
  readonly folder: string
}

const root = resolve(import.meta.dirname, '../..')
const MADE = new Set(['.git', '.turbo', 'node_modules', 'dist', 'coverage'])

/** Copies this tree without installed and built files, and gives the copy its next version, as the commit before a release does. */
export async function nextVersion(tree: string): Promise<void> {
  cpSync(root, tree, { recursive: true, filter: (path) => !MADE.has(basename(path)) })
  await execute(tree, process.env, 'pnpm', ['install', '--frozen-lockfile', '--prefer-offline'])
  await execute(tree, process.env, 'pnpm', ['run', 'version'])
}

/** Builds and publishes a tree with the command of a release. */
export async function release(tree: string, home: string, { url, npmrc }: Registry): Promise<string> {
  const publisher = machine(home, npmrc, {
    PATH: process.env.PATH ?? '',
    TURBO_TELEMETRY_DISABLED: '1',
    // The next run of this test reuses the build.
    TURBO_CACHE_DIR: join(root, '.turbo/cache'),
    // The tree was installed with the pnpm store of the machine, which this home does not have.
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

/** The files that packing creates and removes again, if the package already has them. */
export function extrasOf({ folder }: Released): string[] {
  return ['LICENSE', 'docs', 'package.json.backup'].map((file) => join(folder, file)).filter((file) => existsSync(file))
}

/** The text of a package's manifest. */
export function manifestOf({ folder }: Released): string {
  return readFileSync(join(folder, 'package.json'), 'utf8')
}
