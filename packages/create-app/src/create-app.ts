import { type NewFile, refuseOccupied, writeNewFolder } from '../../create-plugin/src/new-folder.ts'
import { releaseManifest } from '../../create-plugin/src/release-manifest.ts'
import type { ModelId } from './choices.ts'
import { type PackageManager, withCommandsOf } from './package-manager.ts'
import { packageName } from './package-name.ts'
import { filesOf, type StoreId, type Template } from './template.ts'
import { renameVendor, VENDORS } from './vendor.ts'

/** The app to make. */
export interface CreateAppOptions {
  readonly folder: string
  readonly template: Template
  /** The folder of what coding assistants read about Troupe. */
  readonly skill: string
  readonly model: ModelId
  /** Undefined if the template has its own store. */
  readonly store: StoreId | undefined
  readonly packageManager: PackageManager
  /** The versions of our packages: `^0.1.0`. */
  readonly range: string
}

/** Where coding assistants look for skills. */
const SKILL = '.agents/skills/troupe'

/** The name that every template has in its README. */
const NAME = /\bmy-app\b/g

/** Makes an app: the files of its template for the choices that were made. Contract: overwrites nothing; returns the name of its package. */
export function createApp(options: CreateAppOptions): string {
  const { folder, template, skill, model, store, packageManager, range } = options
  refuseOccupied(folder)
  const chosen: ReadonlySet<string> = new Set([model, ...(store === undefined ? [] : [store])])
  const offered: ReadonlySet<string> = new Set(['demo', ...VENDORS.map(({ id }) => id), ...template.stores])
  const all = filesOf(template)
  const { kept, dropped } = variants(all, chosen, offered)
  const [needed, unneeded] = [importsOf(kept), importsOf(dropped)]
  const needs = (library: string) => needed.has(library) || !unneeded.has(library)
  const name = packageName(folder, libraries(all))
  const vendor = VENDORS.find(({ id }) => id === model)
  const files = kept.map(({ file, text }) => {
    const own =
      file === 'package.json' ? manifestOf(releaseManifest(text, range), name, needs) : onlyChosen(text, chosen)
    const renamed = vendor ? renameVendor(own, vendor) : own
    const named = file === 'README.md' ? renamed.replaceAll(NAME, name) : renamed
    return { file, text: file.endsWith('.ts') ? named : withCommandsOf(named, packageManager) }
  })
  const pages = filesOf({ folder: skill }).map(({ file, text }) => {
    return { file: `${SKILL}/${file}`, text: withCommandsOf(text, packageManager) }
  })
  // A file with nothing to set would be in the way.
  const useful = files.filter(({ file, text }) => file !== '.env.example' || text.includes('='))
  writeNewFolder(folder, [...useful, ...pages])
  return name
}

/** Of `store.ts` and `store.postgres.ts` keeps the one that was chosen, as `store.ts`. */
function variants(
  files: readonly NewFile[],
  chosen: ReadonlySet<string>,
  offered: ReadonlySet<string>,
): { readonly kept: readonly NewFile[]; readonly dropped: readonly NewFile[] } {
  const choiceOf = ({ file }: NewFile) => /\.(\w+)\.tsx?$/.exec(file)?.[1] ?? ''
  const plain = files.filter((one) => !offered.has(choiceOf(one)))
  const special = files.filter((one) => chosen.has(choiceOf(one)))
  const picked = plain.map((one) => {
    const variant = special.find(({ file }) => file.replace(/\.\w+(?=\.tsx?$)/, '') === one.file)
    return { one, from: variant ?? one }
  })
  const read = new Set(picked.map(({ from }) => from))
  return {
    kept: picked.map(({ one, from }) => ({ file: one.file, text: from.text })),
    dropped: files.filter((one) => !read.has(one)),
  }
}

/** The line before a block for some choices only, in comments of Markdown or of the shell. */
const ONLY = /^(?:<!--|#) only ([\w, ]+)/
const END = /^(?:<!--|#) end\b/

/** Keeps the blocks for the choices that were made, without the lines around them. */
export function onlyChosen(text: string, chosen: ReadonlySet<string>): string {
  let isKept = true
  const lines = text.split('\n').filter((line) => {
    const [, names] = ONLY.exec(line) ?? []
    const isMark = names !== undefined || END.test(line)
    if (isMark) isKept = names === undefined || names.split(',').some((name) => chosen.has(name.trim()))
    return isKept && !isMark
  })
  return lines.join('\n')
}

/** The packages that files import. */
function importsOf(files: readonly NewFile[]): ReadonlySet<string> {
  const code = files.filter(({ file }) => /\.tsx?$/.test(file)).map(({ text }) => text)
  const imports = code.flatMap((text) => [...text.matchAll(/(?:from|import\(|import) ?'((?:@[\w-]+\/)?[\w-]+)/g)])
  return new Set(imports.map(([, name = '']) => name))
}

/** The packages that a template depends on. */
function libraries(files: readonly NewFile[]): ReadonlySet<string> {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(
    files.find(({ file }) => file === 'package.json')?.text ?? '{}',
  )
  return new Set([...Object.keys(dependencies), ...Object.keys(devDependencies)])
}

/** The `package.json` of the app: its own name, and only the dependencies that it needs. */
function manifestOf(text: string, name: string, needs: (library: string) => boolean): string {
  const { name: _, description: __, troupe: ___, dependencies = {}, ...rest } = JSON.parse(text)
  const needed = Object.fromEntries(Object.entries(dependencies).filter(([library]) => needs(library)))
  const { version, private: isPrivate, type, engines, scripts, ...others } = rest
  const manifest = { name, version, private: isPrivate, type, engines, scripts, dependencies: needed, ...others }
  return `${JSON.stringify(manifest, null, 2)}\n`
}
