import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const packages = globSync('packages/*/src', { cwd: root })

/** The folders that each folder imports from, with the file that does; tests and fixtures aside. */
function importsBetweenFolders(source: string): Map<string, Map<string, string>> {
  const folders = new Map<string, Map<string, string>>()
  const entries = entriesOf(source)
  const files = globSync('**/*.{ts,tsx}', { cwd: join(root, source) })
  for (const file of files.filter((name) => !/\.(test|fixture)\.tsx?$/.test(name) && !entries.includes(name))) {
    const from = dirname(file)
    const text = readFileSync(join(root, source, file), 'utf8')
    for (const [, target = ''] of text.matchAll(/from '(\.[^']+)'/g)) {
      const to = dirname(join(from, target))
      if (to === from) continue
      const known = folders.get(from) ?? new Map<string, string>()
      folders.set(from, known.set(to, file))
    }
  }
  return folders
}

/** The entries of a package, which re-export from every folder. */
function entriesOf(source: string): string[] {
  const { exports = {} } = JSON.parse(readFileSync(join(root, source, '../package.json'), 'utf8'))
  return Object.values<unknown>(exports).map((path) => String(path).replace('./src/', ''))
}

/** The first circle of folders, as the way around it. */
function circleIn(folders: ReadonlyMap<string, ReadonlyMap<string, string>>): string | undefined {
  const done = new Set<string>()
  const visit = (folder: string, way: readonly string[]): string | undefined => {
    if (way.includes(folder)) return [...way.slice(way.indexOf(folder)), folder].join(' → ')
    if (done.has(folder)) return undefined
    for (const [next, file] of folders.get(folder) ?? []) {
      const circle = visit(next, [...way, folder])
      if (circle) return `${circle} (${file})`
    }
    done.add(folder)
    return undefined
  }
  return [...folders.keys()].map((folder) => visit(folder, [])).find((circle) => circle)
}

it.each(packages)('the folders of %s do not import each other in a circle, types included', (source) => {
  expect(circleIn(importsBetweenFolders(source))).toBeUndefined()
})

it('finds a circle', () => {
  const link = (...to: string[]) => new Map(to.map((folder) => [folder, 'file.ts']))
  expect(circleIn(new Map([['a', link('b')], ['b', link('c')], ['c', link('a')]]))).toContain('a → b → c → a') // biome-ignore format: one line
  expect(circleIn(new Map([['a', link('b', 'c')], ['b', link('c')]]))).toBeUndefined() // biome-ignore format: one line
})
