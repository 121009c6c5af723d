import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type Registry, startRegistry } from './registry.ts'
import { extrasOf, manifestOf, nextVersion, type Released, release, releasedPackages } from './release.ts'

/** The release that all tests of publishing share. */
export interface SharedRelease {
  /** The copy of this tree that was released, with its next version. */
  readonly tree: string
  /** The address of the registry with the release. */
  readonly url: string
  readonly npmrc: string
  readonly packages: readonly Released[]
  /** The manifests of these packages before the release. */
  readonly manifests: readonly string[]
  /** The files that packing may create and that existed before. */
  readonly extras: readonly string[]
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly release: SharedRelease
  }
}

const folder = mkdtempSync(join(tmpdir(), 'troupe-release-'))
let registry: Registry | undefined

/** Releases this tree to a registry on loopback, once for all tests of publishing. */
export async function setup(project: TestProject): Promise<void> {
  try {
    project.provide('release', await releaseIn(folder))
  } catch (error) {
    await teardown()
    throw error
  }
}

/** Stops the registry and removes the release. */
export async function teardown(): Promise<void> {
  await registry?.stop()
  registry = undefined
  rmSync(folder, { recursive: true, force: true })
}

async function releaseIn(folder: string): Promise<SharedRelease> {
  registry = await startRegistry(join(folder, 'registry'))
  const { url, npmrc } = registry
  const tree = join(folder, 'tree')
  await nextVersion(tree)
  const packages = releasedPackages(tree)
  const manifests = packages.map(manifestOf)
  const extras = packages.flatMap(extrasOf)
  await release(tree, join(folder, 'publisher'), registry)
  return { tree, url, npmrc, packages, manifests, extras }
}
