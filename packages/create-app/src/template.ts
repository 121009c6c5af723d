import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NewFile } from '../../create-plugin/src/new-folder.ts'

/** Where an app keeps its conversations. */
export type StoreId = 'sqlite' | 'memory' | 'postgres'

/** All stores. */
export const STORES: readonly StoreId[] = ['sqlite', 'memory', 'postgres']

/** An app to begin with. */
export interface Template {
  readonly name: string
  /** One line. */
  readonly description: string
  /** The stores to choose from, the default first; none if the template has its own. */
  readonly stores: readonly StoreId[]
  readonly folder: string
}

/** The template to take unless another one is chosen; it comes first in lists. */
export const DEFAULT_TEMPLATE = 'console'

/** Finds the templates in a folder: each is a folder with a `package.json`, which has its description and its stores. */
export function templatesIn(folder: string): readonly Template[] {
  const found = readdirSync(folder, { withFileTypes: true }).flatMap(({ name }) => {
    const manifest = join(folder, name, 'package.json')
    if (!existsSync(manifest)) return []
    const { description, troupe = {} } = JSON.parse(readFileSync(manifest, 'utf8'))
    return [{ name, description, stores: troupe.stores ?? [], folder: join(folder, name) }]
  })
  const rank = ({ name }: Template) => `${name === DEFAULT_TEMPLATE ? 0 : 1}${name}`
  return found.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
}

/** What installing, running and testing a template makes in its folder. */
const MADE = /^(node_modules|dist|coverage|\.turbo|CHANGELOG\.md|\.env|notes\.md)$|\.(db|db-shm|db-wal|log|tgz)$/

/** Reads the files of a template. Contract: `gitignore` has its real name, which npm would leave out of what it publishes. */
export function filesOf({ folder }: Pick<Template, 'folder'>): readonly NewFile[] {
  return templatePaths(folder).map((path) => ({
    file: path.replace(/(^|\/)gitignore$/, '$1.gitignore'),
    text: readFileSync(join(folder, path), 'utf8'),
  }))
}

/** Lists the files of a template, with `/` between folders, without what installing and running it has made. */
export function templatePaths(folder: string, below = ''): readonly string[] {
  const entries = readdirSync(join(folder, below), { withFileTypes: true }).filter(({ name }) => !MADE.test(name))
  return entries.flatMap((entry) => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    return entry.isDirectory() ? templatePaths(folder, path) : [path]
  })
}
