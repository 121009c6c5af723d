/** The changelog: what was released, from the packages, and what is next, from the changesets. */
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import type { Page } from './pages.ts'
import { read, root } from './repository.ts'

/** A change that is not released yet. */
interface Change {
  readonly packages: readonly string[]
  readonly text: string
}

/** The page of all changes. */
export function changelog(): Page {
  const title = 'Changelog'
  const summary = 'What changed in each release, and what comes with the next one.'
  const markdown = `# ${title}\n\n${summary} All packages have one version.\n\n${[...unreleased(), ...released()].join('\n\n')}\n`
  return { source: '', path: 'changelog.md', markdown, title, summary }
}

function unreleased(): readonly string[] {
  const changes = globSync('.changeset/*.md', { cwd: root })
    .filter((path) => basename(path) !== 'README.md')
    .sort()
    .map((path) => readChange(read(path)))
    .filter(({ packages }) => packages.length > 0)
  if (changes.length === 0) return []
  const byPackage = Object.groupBy(changes, ({ packages }) => packages[0] ?? '')
  const parts = Object.entries(byPackage)
    .sort(([a], [b]) => a.localeCompare(b, 'en'))
    .map(([name, own = []]) => `### ${name}\n\n${own.map(listItem).join('\n')}`)
  return ['## Not released yet', ...parts]
}

/** Reads a changeset: the packages in its head, and its text. */
export function readChange(changeset: string): Change {
  const [, head = '', ...text] = changeset.split(/^---$/m)
  return {
    packages: [...head.matchAll(/^['"](.+)['"]:/gm)].map(([, name = '']) => name),
    text: text.join('---').trim(),
  }
}

function listItem({ packages: [, ...others], text }: Change): string {
  const also = others.length > 0 ? ` (also ${others.map((name) => `\`${name}\``).join(', ')})` : ''
  return `- ${text.replaceAll('\n', '\n  ')}${also}`
}

function released(): readonly string[] {
  return globSync('packages/*/CHANGELOG.md', { cwd: root })
    .sort()
    .map((path) => belowTitle(read(path)))
}

/** Puts the changelog of a package below the title of the page: its headings are one level lower. */
export function belowTitle(changelog: string): string {
  return changelog.replaceAll(/^#/gm, '##').trim()
}
