/** Writes the pages of the site into a folder, from which VitePress builds it. */
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ApiPage } from './api/topics.ts'
import { fillBenchmarks } from './benchmark-table.ts'
import { exampleSources } from './example-sources.ts'
import { Linker } from './links.ts'
import { splitHead } from './markdown.ts'
import { addressOf, type Page } from './pages.ts'
import { read, repositoryUrl, root } from './repository.ts'

/** The pages that a site is made of. */
export interface Site {
  /** Files of the repository. */
  readonly pages: readonly Page[]
  /** Pages that are made from something else; their links are those of the site. */
  readonly made: readonly Page[]
  readonly apiPages: readonly ApiPage[]
}

/** Writes all pages and their images. Contract: throws and lists the dead links, if any; a file that has not changed is left alone. */
export function stage({ pages, made, apiPages }: Site, folder: string): void {
  const linker = new Linker(pages, repositoryUrl())
  const places = new Set(pages.map(({ path }) => path))
  const linked = pages.map((page) => ({ page, ...linker.link(page) }))
  const deadLinks = linked.flatMap((one) => one.deadLinks)
  if (deadLinks.length > 0) throw new Error(`dead links:\n${deadLinks.join('\n')}`)
  const results = read('bench/RESULTS.md')
  const files = new Map<string, string | Buffer>([
    ...linked.map(
      ({ page, markdown }) =>
        [page.path, withHead(page, fillBenchmarks(markdown, results) + extrasOf(page, apiPages), places)] as const,
    ),
    ...made.map((page) => [page.path, withHead(page, page.markdown, places)] as const),
    ...linked.flatMap(({ images }) =>
      images.map((image) => [`public/${image}`, readFileSync(join(root, image))] as const),
    ),
    ['public/mark.svg', readFileSync(join(root, 'apps/assistant/page/src/mark.svg'))],
  ])
  for (const old of globSync('**/*.*', { cwd: folder }))
    if (!files.has(old.replaceAll('\\', '/'))) rmSync(join(folder, old))
  for (const [path, text] of files) write(join(folder, path), text)
}

/** What the site adds at the end of a page. */
function extrasOf({ path, source }: Page, apiPages: readonly ApiPage[]): string {
  if (/^(?:examples|templates)\/(?!index)/.test(path)) return exampleSources(dirname(source))
  const [, name] = /^packages\/([\w-]+)\.md$/.exec(path) ?? []
  const own = apiPages.filter((page) => page.path.startsWith(`${name}/`))
  if (own.length === 0) return ''
  return `\n\n## API reference\n\n${own.map((page) => `- [${page.title}](/api/${page.path}.md)`).join('\n')}\n`
}

/** Puts a head before a page: its description, for search engines and assistants, and its translation. A page may have a head of its own. */
function withHead({ path, summary }: Page, markdown: string, places: ReadonlySet<string>): string {
  const translation = path.startsWith('zh/') ? path.slice('zh/'.length) : `zh/${path}`
  const { head: own, body } = splitHead(markdown)
  const head = [
    ...(own.includes('description:') ? [] : [`description: ${JSON.stringify(summary)}`]),
    ...(path.startsWith('api/') ? ['outline: 2', 'pageClass: api'] : []),
    ...(places.has(translation) ? [`translation: ${JSON.stringify(addressOf(translation))}`] : []),
  ]
  // The buttons of a Chinese home lead to Chinese pages.
  const buttons = own.replaceAll(/(?<=^ +link: )\/(\S+)$/gm, (link, place) =>
    path.startsWith('zh/') && places.has(`zh/${place}.md`) ? `/zh${link}` : link,
  )
  return `---\n${[...head, buttons].join('\n').trimEnd()}\n---\n\n${body}`
}

function write(file: string, text: string | Buffer): void {
  if (existsSync(file) && readFileSync(file).equals(Buffer.from(text))) return
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
