/** Mends the links of the Markdown copies beside the pages, which coding assistants read. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { type Link, mapLinks } from './markdown.ts'

/**
 * Makes the links of the Markdown in a built site relative, to the Markdown of a page where there is one, otherwise to the page.
 * Contract: gives the links that lead nowhere; it does not matter where the site is hosted.
 */
export function linkMarkdownCopies(folder: string): readonly string[] {
  const files = globSync('**/*.md', { cwd: folder }).map((path) => path.replaceAll('\\', '/'))
  return files.flatMap((file) => {
    const dead: string[] = []
    const text = readFileSync(join(folder, file), 'utf8')
    const linked = mapLinks(text, (link) => {
      if (!link.url.startsWith('/')) return written(link, link.url)
      const [path = '', anchor] = link.url.split('#')
      const target = fileOf(folder, decodeURI(path.slice(1)))
      if (target === undefined) dead.push(`${file}: ${link.url}: no such page`)
      const place = posix.relative(dirname(file), target ?? path)
      return written(link, anchor === undefined ? place : `${place}#${anchor}`)
    })
    writeFileSync(join(folder, file), linked)
    return dead
  })
}

function fileOf(folder: string, path: string): string | undefined {
  const page = path.replace(/\.(?:md|html)$/, '').replace(/(?:^|\/)(?:index)?$/, '')
  const places = [`${page}.md`, posix.join(page, 'index.md'), `${page}.html`, posix.join(page, 'index.html'), path]
  return places.find((place) => place !== '' && existsSync(join(folder, place)))
}

function written({ text, isImage }: Link, url: string): string {
  return `${isImage ? '!' : ''}[${text}](${url})`
}
