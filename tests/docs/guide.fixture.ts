import { existsSync, globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

export const root: string = resolve(import.meta.dirname, '../..')

/** A block of code of a page. */
export interface Block {
  /** What stands behind the three ticks: `ts`, `ts fragment`, `sh`. */
  readonly kind: string
  readonly code: string
  /** The file that the first line names: `// model.ts`. */
  readonly file: string | undefined
  /** The heading that it stands under. */
  readonly section: string
}

/** The blocks of a page, in order. */
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

/** The packages that a program imports, without their entries. */
export function importsOf(code: string): readonly string[] {
  const names = [...code.matchAll(/from '((?:@[\w-]+\/)?[\w-]+)/g)].map(([, name = '']) => name)
  return names.filter((name) => name !== 'node')
}

const modules = globSync('{packages,apps,examples,tests}/*/node_modules', { cwd: root })

/** Puts a package in a folder outside the workspace, as an install would: ours from its sources, another as somebody here has it. */
export function link(folder: string, name: string): void {
  const target = join(folder, 'node_modules', name)
  if (existsSync(target)) return
  const own = name.startsWith('@troupe/') ? [join('packages', name.slice('@troupe/'.length))] : []
  const places = [...own, ...[...modules, 'node_modules'].map((place) => join(place, name))]
  const place = places.map((path) => join(root, path)).find((path) => existsSync(path))
  if (!place) throw new Error(`${name}: nobody in the workspace has it, so no guide can show it`)
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(place, target)
}
