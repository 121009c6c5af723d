import { existsSync, globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

export const root: string = resolve(import.meta.dirname, '../..')

/** A code block of a page. */
export interface Block {
  /** The info string after the three ticks: `ts`, `ts fragment`, `sh`. */
  readonly kind: string
  readonly code: string
  /** The file that the first line names: `// model.ts`. */
  readonly file: string | undefined
  /** The heading above it. */
  readonly section: string
}

/** Reads the code blocks of a page, in order. */
export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(root, page), 'utf8')
  let section = ''
  return [...text.matchAll(/^## ([^\n]*)$|^```(\w[\w ]*)\n(.*?)^```/gms)].flatMap(
    ([, heading, kind = '', code = '']) => {
      section = heading ?? section
      if (heading !== undefined) return []
      const [, file] = /^(?:\/\/|<!--) ([\w./-]+\.\w+)(?: -->)?\n/.exec(code) ?? []
      return [{ kind, code, file, section }]
    },
  )
}

/** Lists the packages that a program imports, without their entries. */
export function importsOf(code: string): readonly string[] {
  const names = [...code.matchAll(/from '((?:@[\w-]+\/)?[\w-]+)/g)].map(([, name = '']) => name)
  return names.filter((name) => name !== 'node')
}

const modules = globSync('{packages,apps,examples,tests}/*/node_modules', { cwd: root })

/** Links a package into a folder outside the workspace, as an install would: our packages from their sources, others from any workspace package that has them. */
export function link(folder: string, name: string): void {
  const target = join(folder, 'node_modules', name)
  if (existsSync(target)) return
  const own = name.startsWith('@troupe/') ? [join('packages', name.slice('@troupe/'.length))] : []
  const candidates = [...own, ...[...modules, 'node_modules'].map((folder) => join(folder, name))]
  const source = candidates.map((path) => join(root, path)).find((path) => existsSync(path))
  if (!source) throw new Error(`${name}: no package of the workspace depends on it, so no guide can use it`)
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(source, target)
}
