/** The pages that are made from parts of the repository. */
import type { ApiPage } from './api/topics.ts'
import { usesOf } from './api/uses.ts'
import { changelog } from './changelog.ts'
import { headingsOf, sectionOf } from './markdown.ts'
import type { Page } from './pages.ts'
import { read } from './repository.ts'

/** The pages that are not files of the repository, apart from those of the API reference. */
export function madePages(
  pages: readonly Page[],
  apiPages: readonly ApiPage[],
  reference: readonly Page[],
): readonly Page[] {
  return [packagesPage(), apiIndex(pages, apiPages, reference), changelog()]
}

/** The packages, as the README lists them. */
function packagesPage(): Page {
  const lines = sectionOf(read('README.md'), 'how-it-is-built').split('\n')
  const begin = lines.findIndex((line) => line.startsWith('| package |'))
  const end = lines.findIndex((line, i) => i > begin && !line.startsWith('|'))
  const table = lines.slice(begin, end === -1 ? undefined : end).join('\n')
  const title = 'Packages'
  const summary = 'Every package of Troupe, and what it has.'
  const advice =
    'Every package is optional except the kernel: [install only what you need](/docs/install-only-what-you-need.md).'
  const linked = table
    .replaceAll(/\((packages|examples)\/([\w-]+)\)/g, '(/$1/$2.md)')
    .replaceAll('(templates)', '(/templates/index.md)')
  return made('packages/index.md', title, summary, `${advice}\n\n${linked}`)
}

/** All exports on one page, to find one by its name. */
function apiIndex(pages: readonly Page[], apiPages: readonly ApiPage[], reference: readonly Page[]): Page {
  const uses = usesOf(pages)
  const exports = apiPages.flatMap((page) =>
    page.exports.map((one) => ({ ...one, key: `${page.entryName} ${one.name}` })),
  )
  const values = exports.filter(({ isType }) => !isType)
  const others = values.filter(({ hasExample }) => !hasExample)
  const used = others.filter(({ key }) => uses.has(key)).length
  const count = `There are ${exports.length}: ${exports.length - values.length} types and ${values.length} values. Of the values ${values.length - others.length} have an example here, ${used} more are used in a guide, which is linked, and ${others.length - used} have neither.`
  const parts = apiPages.map((page, i) => indexPart(page, reference[i]?.markdown ?? ''))
  const summary = 'Every export of every published package, from its doc comments.'
  return made('api/index.md', 'API reference', summary, `${count}\n\n${parts.join('\n\n')}`)
}

function indexPart({ title, path, entryName, exports }: ApiPage, markdown: string): string {
  const headings = headingsOf(markdown).filter(({ level }) => level === 2)
  const links = exports.map(({ name }) => {
    const anchor = headings.find(({ text }) => text.replace(/^abstract /, '').replace(/\W.*/, '') === name)?.anchor
    return `[${name}](/api/${path}.md#${anchor ?? name.toLowerCase()})`
  })
  const heading = title === entryName ? title : `${entryName}: ${title[0]?.toLowerCase()}${title.slice(1)}`
  return `## ${heading}\n\n${links.join(' · ')}`
}

function made(path: string, title: string, summary: string, body: string): Page {
  return { source: '', path, markdown: `# ${title}\n\n${summary}\n\n${body}\n`, title, summary }
}
