/** Compares the Chinese pages of `docs/zh` with the English ones. `node scripts/chinese-docs.ts docs/zh/tools.md` says that a page follows its English page as that is now. */
import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, normalize, resolve } from 'node:path'
import { type Block, cellsOf, sectionsOf } from './sections.ts'

/** The English text that each Chinese section was translated from, as a hash: by page, then by id. */
export type Followed = Readonly<Record<string, Readonly<Record<string, string>>>>

const root = resolve(import.meta.dirname, '..')
const FOLLOWED = 'scripts/chinese-docs.json'

export const read = (file: string): string => readFileSync(join(root, file), 'utf8')
export const readFollowed = (): Followed => JSON.parse(read(FOLLOWED))

/** The names of the Chinese pages, without the glossary. */
export const chinesePages = (): readonly string[] =>
  globSync('docs/zh/*.md', { cwd: root })
    .map((path) => basename(path))
    .filter((name) => name !== 'README.md')
    .sort()

/** Lists where a Chinese page does not say what the English one says. Contract: each line names the section and says what to do. */
export function differences(english: string, chinese: string, translated: readonly string[]): readonly string[] {
  const from = sectionsOf(english)
  const to = sectionsOf(chinese)
  const ids = from.map(({ level, id }) => `${level} {#${id}}`)
  const found = to.map(({ level, id }) => `${level} {#${id}}`)
  if (found.join() !== ids.join()) {
    const missing = ids.filter((id) => !found.includes(id)).map((id) => `no heading ${id}`)
    const extra = found.filter((id) => !ids.includes(id)).map((id) => `${id} is not a heading of the English page`)
    const rest = missing.length + extra.length === 0 ? ['the headings have another order'] : []
    return [...missing, ...extra, ...rest]
  }
  return from.flatMap(({ heading, blocks }, i) =>
    inSection(blocks, to[i]?.blocks ?? [], translated).map((what) => `"${heading}": ${what}`),
  )
}

function inSection(from: readonly Block[], to: readonly Block[], translated: readonly string[]): readonly string[] {
  const kinds = (blocks: readonly Block[]) => blocks.map(({ kind }) => kind).join(', ')
  if (kinds(from) !== kinds(to)) return [`has ${kinds(to) || 'nothing'}; the English section has ${kinds(from)}`]
  return from.flatMap(({ kind, text }, i) => {
    const other = to[i]?.text ?? ''
    const place = `${kind} ${from.slice(0, i + 1).filter((block) => block.kind === kind).length}`
    if (kind === 'code block') return text === other ? [] : [`${place} differs: copy it from the English page`]
    const cells = kind === 'table row' ? cellsOf : (row: string) => [row]
    const expected = cells(text).map((cell) => factsOf(cell, (link) => chineseLink(link, translated)))
    const actual = cells(other).map((cell) => factsOf(cell, (link) => link))
    if (expected.length !== actual.length) return [`${place} has ${actual.length} cells instead of ${expected.length}`]
    return expected.flatMap((facts, cell) => {
      const lost = without(facts, actual[cell] ?? [])
      const added = without(actual[cell] ?? [], facts)
      return [
        ...(lost.length > 0 ? [`${place} leaves out ${lost.join(' ')}`] : []),
        ...(added.length > 0 ? [`${place} has ${added.join(' ')}, which the English page does not`] : []),
      ]
    })
  })
}

/** What is the same in every language: code, targets of links, numbers, and how often something is bold. */
function factsOf(text: string, link: (target: string) => string): readonly string[] {
  const code = [...text.matchAll(/`([^`]+)`/g)].map(([span]) => span)
  const prose = text.replaceAll(/`[^`]+`/g, '')
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => `](${link(target)})`)
  const words = prose.replaceAll(/\]\([^)\s]+\)/g, '')
  const bold = (words.match(/\*\*[^*]+\*\*/g) ?? []).map(() => '**')
  return [...code, ...links, ...(words.match(/\d+(?:[.,]\d+)*/g) ?? []), ...bold]
}

/** Where a link of an English page leads from the Chinese one: to a Chinese page if there is one. */
function chineseLink(target: string, translated: readonly string[]): string {
  const [path = ''] = target.split('#')
  if (path === '' || /^\w+:/.test(target) || translated.includes(path)) return target
  return normalize(join('..', target)).replaceAll('\\', '/')
}

function without(these: readonly string[], those: readonly string[]): readonly string[] {
  const left = [...those]
  return these.filter((one) => {
    const at = left.indexOf(one)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** The hash of each section of an English page, without its code. Contract: it stays if only line breaks change. */
export function hashesOf(english: string): Readonly<Record<string, string>> {
  const hashes = sectionsOf(english).map(({ id, heading, blocks }) => {
    const prose = blocks.filter(({ kind }) => kind !== 'code block').map(({ text }) => text.replaceAll(/\s+/g, ' '))
    return [
      id,
      createHash('sha256')
        .update([heading, ...prose].join('\n'))
        .digest('hex')
        .slice(0, 8),
    ] as const
  })
  return Object.fromEntries(hashes)
}

/** The text of a page without code, targets of links, ids of headings, and English words in parentheses. */
export const proseOf = (page: string): string =>
  page
    .replaceAll(/^ *```.*?^ *```/gms, '')
    .replaceAll(/`[^`]+`/g, '')
    .replaceAll(/\]\([^)\s]+\)/g, ']')
    .replaceAll(/\{#[\w-]+\}$/gm, '')
    .replaceAll(/（[\w -]+）/g, '')

if (process.argv[1] === import.meta.filename) {
  const followed: Record<string, Readonly<Record<string, string>>> = { ...readFollowed() }
  const pages = chinesePages()
  for (const page of process.argv.slice(2).map((path) => basename(path))) {
    if (!pages.includes(page)) throw new Error(`docs/zh/${page} does not exist`)
    followed[page] = hashesOf(read(`docs/${page}`))
  }
  const kept = pages.flatMap((page) => (followed[page] ? [[page, followed[page]]] : []))
  writeFileSync(join(root, FOLLOWED), `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`)
}
