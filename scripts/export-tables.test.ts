import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Entry, entries, root } from './entries.ts'

/** Names by entry. */
type Names = Record<string, readonly string[]>

const limits = JSON.parse(readFileSync(join(root, '.size-limit.json'), 'utf8')) as { name: string; limit: string }[]
const packages = Object.entries(Object.groupBy(entries(), ({ folder }) => folder))
  .map(([folder, own = []]) => ({ folder, readme: join(root, folder, 'README.md'), own }))
  .filter(({ readme }) => existsSync(readme))
  .map(({ folder, readme, own }) => ({ folder, own, text: readFileSync(readme, 'utf8') }))

/** The cells of each row of the tables whose first column has this heading. */
function rowsOf(text: string, heading: string): readonly (readonly string[])[] {
  const tables = [...text.matchAll(new RegExp(`^\\| ${heading} \\|.*\\n\\|[-|]+\\n((?:\\|.*\\n)+)`, 'gm'))]
  return tables.flatMap(([, rows = '']) =>
    rows
      .trim()
      .split('\n')
      .map((row) =>
        row
          .split('|')
          .map((cell) => cell.trim())
          .slice(1, -1),
      ),
  )
}

/** The names that a README lists: a row of an `import` table lists those of an entry, one of the others a name of the main entry. */
function listedIn(text: string, main: string): Names {
  const listed = new Map<string, string[]>()
  const add = (entry: string, names: readonly string[]) => listed.set(entry, [...(listed.get(entry) ?? []), ...names])
  for (const [entry = '', names = ''] of rowsOf(text, 'import')) {
    add(
      entry.replaceAll('`', ''),
      [...names.matchAll(/`(\w+)(?:\(\))?`/g)].map(([, name = '']) => name),
    )
  }
  for (const [cell = ''] of ['export', 'suite', 'part'].flatMap((heading) => rowsOf(text, heading))) {
    add(
      main,
      [...cell.matchAll(/`(\w+)[^`]*`/g)].map(([, name = '']) => name),
    )
  }
  return Object.fromEntries([...listed].map(([entry, names]) => [entry, names.sort()]))
}

/** The values that the entries export. */
async function exportedBy(own: readonly Entry[]): Promise<Names> {
  const modules = own.map(async ({ name, file }) => [name, Object.keys(await import(file)).sort()] as const)
  return Object.fromEntries(await Promise.all(modules))
}

/** Sizes in a README that are not the limit of the entry of their row. */
function wrongSizes(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const [, entry = ''] = /^\| `([^`]+)` \|/.exec(line) ?? []
    const limit = limits.find(({ name }) => name === entry)?.limit
    const sizes = [...line.matchAll(/[\d.,]+ kB\b/g)].map(([size]) => size)
    return sizes.filter((size) => size !== limit).map((size) => `${entry}: ${size}, the limit is ${limit}`)
  })
}

it('every package with entries has a README, unless it is private', () => {
  expect(packages.length).toBeGreaterThan(9)
  const without = entries().filter(({ folder }) => !packages.some((one) => one.folder === folder))
  const isPublic = ({ folder }: Entry) => !JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).private
  expect(without.filter(isPublic)).toEqual([])
})

describe.each(packages)('$folder/README.md', ({ own, text }) => {
  it('lists every exported value by its entry, and nothing else', async () => {
    expect(listedIn(text, own[0]?.name ?? '')).toEqual(await exportedBy(own))
  })

  it('names only the sizes of .size-limit.json', () => {
    expect(wrongSizes(text)).toEqual([])
  })
})

it('a name that is missing, one too many and a wrong size are found', () => {
  const table =
    '| import | what it has | size |\n|---|---|---|\n| `@troupe/kernel/history` | `openCalls`, `memoryStore()` | 9 kB |\n'
  expect(listedIn(table, '@troupe/kernel')).toEqual({ '@troupe/kernel/history': ['memoryStore', 'openCalls'] })
  expect(listedIn('| suite | for |\n|---|---|\n| `testTool(name, make)` | `Tool` |\n', 'main')).toEqual({
    main: ['testTool'],
  })
  expect(wrongSizes(table)).toEqual(['@troupe/kernel/history: 9 kB, the limit is 1.5 kB'])
  expect(wrongSizes('The kernel has 7 kB.')).toEqual([': 7 kB, the limit is undefined'])
})
