/** Checks the links of built pages. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/** The links of a folder of built pages that lead nowhere, with the page. Contract: follows links to pages, anchors and files of this site; others are not visited. */
export function deadLinksIn(folder: string, base = '/'): readonly string[] {
  const files = globSync('**/*.html', { cwd: folder }).map((path) => path.replaceAll('\\', '/'))
  const pages = new Map(files.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
  const ids = new Map([...pages].map(([path, html]) => [path, idsOf(html)]))
  return [...pages].flatMap(([path, html]) =>
    [...new Set(linksOf(html))].flatMap((link) => {
      const [place = '', anchor] = link.split('#')
      const target = fileOf(place, path, base)
      if (target === undefined || !existsSync(join(folder, target))) return [`${path}: ${link}: no such page`]
      const isAnchor = anchor !== undefined && anchor !== '' && target.endsWith('.html')
      return isAnchor && !ids.get(target)?.has(decodeURIComponent(anchor)) ? [`${path}: ${link}: no such section`] : []
    }),
  )
}

function linksOf(html: string): readonly string[] {
  return [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)]
    .map(([, link = '']) => link.replaceAll('&amp;', '&'))
    .filter((link) => link !== '' && !/^(?:[a-z]+:|\/\/)/.test(link))
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = '']) => id))
}

function fileOf(place: string, from: string, base: string): string | undefined {
  if (place === '') return from
  if (place.startsWith('/') && !place.startsWith(base)) return undefined
  const path = place.startsWith('/') ? place.slice(base.length) : posix.join(dirname(from), place)
  const file = decodeURI(path.split('?')[0] ?? '')
  return file === '' || file.endsWith('/') ? `${file}index.html` : file
}
