/** Lists the pages of the site: which file of the repository becomes which page. */
import { existsSync, globSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { onlyChosen } from '../../../packages/create-app/src/create-app.ts'
import { summaryOf, titleOf } from './markdown.ts'
import { read, root } from './repository.ts'

/** A file of the repository that is a page of the site. */
export interface Page {
  /** The file, below the root of the repository. */
  readonly source: string
  /** Its place on the site: `docs/tools.md`. */
  readonly path: string
  readonly markdown: string
  readonly title: string
  readonly summary: string
}

/** The files that become pages, by pattern, with the place of each. */
const PLACES: readonly (readonly [pattern: string, place: (path: string) => string])[] = [
  ['apps/site/pages/**/*.md', (path) => path.slice('apps/site/pages/'.length)],
  ['docs/*.md', (path) => path],
  ['docs/{recipes,decisions,coming-from}/*.md', (path) => path.replace(/README\.md$/, 'index.md')],
  ['docs/zh/*.md', (path) => path.replace(/^docs\/zh\//, 'zh/docs/').replace(/README\.md$/, 'index.md')],
  ['packages/*/README.md', (path) => `${dirname(path)}.md`],
  ['examples/README.md', () => 'examples/index.md'],
  ['examples/*/README.md', (path) => `${dirname(path)}.md`],
  ['templates/README.md', () => 'templates/index.md'],
  ['templates/*/README.md', (path) => `${dirname(path)}.md`],
  ['apps/README.md', () => 'apps/index.md'],
  ['apps/assistant/README.md', () => 'apps/assistant.md'],
  ['bench/README.md', () => 'bench/index.md'],
  ['bench/RESULTS.md', () => 'bench/peers.md'],
  ['bench/RESULTS-STORAGE.md', () => 'bench/peers-storage.md'],
  ['bench/peers/README.md', () => 'bench/how-peers-are-measured.md'],
  ['tests/faults/README.md', () => 'faults.md'],
  ['CONTRIBUTING.md', () => 'contributing.md'],
]

/** Every page that is a file of the repository. */
export function readPages(): readonly Page[] {
  return PLACES.flatMap(([pattern, place]) =>
    globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] })
      .map((path) => path.replaceAll('\\', '/'))
      .sort()
      .map((source) => {
        const markdown = onlyChosen(read(source), CHOICES)
        return { source, path: place(source), markdown, title: titleOf(markdown), summary: summaryOf(markdown) }
      }),
  )
}

/** What the page of a template shows: an app with these choices. */
const CHOICES: ReadonlySet<string> = new Set(['openai', 'sqlite'])

/** The address of a page on the site: `docs/tools.md` is at `/docs/tools`. */
export function addressOf(path: string): string {
  return `/${path.replace(/(?:^|(?<=\/))index\.md$/, '').replace(/\.md$/, '')}`
}

/** The file or folder of the repository that a relative link leads to, if it exists. */
export function targetOf(source: string, url: string): string | undefined {
  const path = url === '' ? source : posix.join(posix.dirname(source), decodeURI(url)).replace(/\/$/, '')
  return !path.startsWith('..') && existsSync(join(root, path)) ? path : undefined
}
