/** The repository around the site. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/entries.ts'

export { root }

/** Reads a file of the repository. */
export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** The address of the repository on the web, from a `repository` field, if there is one. */
export function repositoryUrl(
  manifests: readonly string[] = ['package.json', 'packages/kernel/package.json'],
): string | undefined {
  for (const path of manifests) {
    const { repository } = JSON.parse(read(path)) as { repository?: string | { url: string } }
    const url = typeof repository === 'string' ? repository : repository?.url
    if (url) return webAddress(url)
  }
  return undefined
}

/** The web address of what npm accepts as a repository. */
export function webAddress(url: string): string {
  return url
    .replace(/^git\+/, '')
    .replace(/^github:|^(?=[\w-]+\/[\w.-]+$)/, 'https://github.com/')
    .replace(/^(?:git|ssh):\/\/(?:git@)?/, 'https://')
    .replace(/\.git$/, '')
}
