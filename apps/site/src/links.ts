/** Makes links between files into links between pages. */
import { statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { headingsOf, type Link, mapLinks } from './markdown.ts'
import { type Page, targetOf } from './pages.ts'
import { root } from './repository.ts'

/** A page with links that work on the site. */
export interface LinkedPage {
  readonly markdown: string
  /** The links that lead nowhere, with the reason. */
  readonly deadLinks: readonly string[]
  /** The images of the page, below the root of the repository. */
  readonly images: readonly string[]
}

/** Links the pages of a site. */
export class Linker {
  readonly #bySource: ReadonlyMap<string, Page>
  readonly #byPath: ReadonlyMap<string, Page>
  readonly #repository: string | undefined
  readonly #anchors = new Map<string, ReadonlySet<string>>()

  constructor(pages: readonly Page[], repository: string | undefined) {
    this.#bySource = new Map(pages.map((page) => [page.source, page]))
    this.#byPath = new Map(pages.map((page) => [page.path, page]))
    this.#repository = repository
  }

  /**
   * Changes the links of a page. Contract: a file that is a page becomes a link to that page, any other file a link into the
   * repository, or plain text as long as the repository has no address. A Chinese page leads to Chinese pages where there are some.
   */
  link({ source, path: place, markdown }: Page): LinkedPage {
    const deadLinks: string[] = []
    const images: string[] = []
    const linked = mapLinks(markdown, (link) => {
      if (/^\w+:/.test(link.url)) return written(link, link.url)
      const [path = '', anchor] = link.url.split('#')
      const target = targetOf(source, path)
      if (target === undefined) {
        deadLinks.push(`${source}: ${link.url}: no such file`)
        return written(link, link.url)
      }
      if (link.isImage) {
        images.push(target)
        return written(link, `/${target}`)
      }
      const original = this.#bySource.get(target) ?? this.#bySource.get(posix.join(target, 'README.md'))
      const page = (place.startsWith('zh/') && this.#byPath.get(`zh/${original?.path}`)) || original
      if (page && anchor !== undefined && !this.#anchorsOf(page).has(decodeURI(anchor)))
        deadLinks.push(`${source}: ${link.url}: ${page.source} has no such section`)
      return page ? written(link, placeOf(page, source, anchor)) : this.#toRepository(link, target)
    })
    return { markdown: linked, deadLinks, images }
  }

  #toRepository(link: Link, target: string): string {
    if (this.#repository === undefined) return link.text
    const kind = statSync(join(root, target)).isDirectory() ? 'tree' : 'blob'
    return written(link, `${this.#repository}/${kind}/main/${target}`)
  }

  #anchorsOf(page: Page): ReadonlySet<string> {
    let anchors = this.#anchors.get(page.source)
    if (!anchors) {
      anchors = new Set(headingsOf(page.markdown).map(({ anchor }) => anchor))
      this.#anchors.set(page.source, anchors)
    }
    return anchors
  }
}

function placeOf(page: Page, source: string, anchor: string | undefined): string {
  const hash = anchor === undefined ? '' : `#${anchor}`
  return page.source === source && hash ? hash : `/${page.path}${hash}`
}

function written({ text, isImage }: Link, url: string): string {
  return `${isImage ? '!' : ''}[${text}](${url})`
}
