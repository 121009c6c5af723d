/** Makes everything that VitePress reads: the pages, the sidebars, the API reference. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { writeReference } from './api/reference.ts'
import { readApiPages } from './api/topics.ts'
import { madePages } from './made-pages.ts'
import { readPages } from './pages.ts'
import { repositoryUrl } from './repository.ts'
import { apiSidebar, guideSidebar } from './sidebar.ts'
import { type Site, stage } from './stage.ts'

/** The folder of the site. */
export const SITE: string = resolve(import.meta.dirname, '..')
/** Where the built site is. */
export const OUT: string = join(SITE, 'dist')

const GENERATED = join(SITE, 'generated')

/** Prepares the site. Contract: replaces what was there before, and throws if a link between files is dead. */
export async function prepare(): Promise<Site> {
  const pages = readPages()
  const apiPages = readApiPages()
  const reference = await writeReference(apiPages, pages, join(GENERATED, 'api'))
  const site = { pages, made: [...madePages(pages, apiPages, reference), ...reference], apiPages }
  stage(site, join(GENERATED, 'pages'))
  const all = [...pages, ...site.made]
  const forVitePress = {
    repository: repositoryUrl(),
    sidebar: { '/': guideSidebar(all, 'en'), '/api/': apiSidebar(apiPages) },
    chineseSidebar: guideSidebar(all, 'zh'),
    chineseStart: pages.some(({ path }) => path === 'zh/docs/getting-started.md')
      ? '/zh/docs/getting-started'
      : '/docs/getting-started',
  }
  mkdirSync(GENERATED, { recursive: true })
  writeFileSync(join(GENERATED, 'site.json'), JSON.stringify(forVitePress, undefined, 2))
  return site
}

/** Prepares the pages of a site again, without its API reference. */
export function prepareAgain(site: Site): void {
  stage({ ...site, pages: readPages() }, join(GENERATED, 'pages'))
}
