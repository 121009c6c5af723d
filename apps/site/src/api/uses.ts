/** Finds the guides that use an export. */
import { codeBlocksOf } from '../markdown.ts'
import type { Page } from '../pages.ts'

/** The pages that have programs to learn from. */
const GUIDES = /^docs\/(?:recipes\/)?[\w-]+\.md$/

/**
 * The pages with a program that imports a name of an entry, by entry and name: `@troupe/flow runner`. Those that speak most of it
 * come first.
 */
export function usesOf(pages: readonly Page[]): ReadonlyMap<string, readonly Page[]> {
  const uses = new Map<string, Page[]>()
  for (const page of pages.filter(({ path }) => GUIDES.test(path))) {
    const blocks = codeBlocksOf(page.markdown).filter(({ kind }) => /^(ts|tsx|js)$/.test(kind))
    for (const key of new Set(blocks.flatMap(({ code }) => importsIn(code))))
      uses.set(key, [...(uses.get(key) ?? []), page])
  }
  for (const [key, found] of uses) found.sort((a, b) => mentions(b, key) - mentions(a, key))
  return uses
}

function mentions({ markdown }: Page, key: string): number {
  return markdown.split(key.slice(key.indexOf(' ') + 1)).length
}

/** The imports of a program, as `entry name`. */
function importsIn(code: string): readonly string[] {
  return [...code.matchAll(/^import (?:type )?{([^{}]*)} from '([^'{}\n]+)'/gm)].flatMap(([, names = '', entry]) =>
    names
      .split(',')
      .map(
        (name) =>
          name
            .replace(/\btype\b/, '')
            .split(' as ')[0]
            ?.trim() ?? '',
      )
      .filter(Boolean)
      .map((name) => `${entry} ${name}`),
  )
}
