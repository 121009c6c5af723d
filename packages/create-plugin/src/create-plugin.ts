import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kind } from './kind.ts'
import { type PluginNames, pluginNames } from './names.ts'
import { type NewFile, writeNewFolder } from './new-folder.ts'
import { releaseManifest } from './release-manifest.ts'

/** The plugin to make, and its template. */
export interface CreatePluginOptions {
  /** The name of the npm package, with or without a scope. */
  readonly name: string
  readonly kind: Kind
  /** The folder to make. @default a folder in `parent`, called like the package without its scope */
  readonly folder?: string
  /** @default '.' */
  readonly parent?: string
  /** The folder of the plugin to begin with. */
  readonly template: (kind: Kind) => string
  /** The versions of kernel and testkit that it is written for: `^0.1.0`. */
  readonly range: string
  /** The holder of the copyright. @default "the authors of" the package */
  readonly holder: string | undefined
  readonly year: number
}

/** The files of a template. */
export const TEMPLATE_FILES: readonly string[] = [
  'LICENSE',
  'README.md',
  'package.json',
  'src/index.test.ts',
  'src/index.ts',
  'tsconfig.build.json',
  'tsconfig.json',
]

/** Makes a plugin in a folder of its own: the template of its kind with its names replaced. Contract: returns the folder. */
export function createPlugin(options: CreatePluginOptions): string {
  const { name, kind, folder, parent = '.', template, range, holder = `the authors of ${name}`, year } = options
  const texts = TEMPLATE_FILES.map((file) => ({ file, text: readFileSync(join(template(kind), file), 'utf8') }))
  const before = namesOf(texts, kind)
  const taken = wordsOf(texts.filter(({ file }) => file.endsWith('.ts')).map(({ text }) => text))
  taken.delete(before.factory)
  const names = pluginNames(name, kind, taken)
  const target = folder ?? join(parent, names.folder)
  const copyright = `Copyright (c) ${year} ${holder}`
  const files = texts.map(({ file, text }) => ({
    file,
    text: release(rename(text, before, names), file, { range, copyright }),
  }))
  // npm leaves a .gitignore out of what it publishes, so the template cannot bring one.
  writeNewFolder(target, [...files, { file: '.gitignore', text: 'node_modules/\ndist/\n' }])
  return target
}

/** The names in the template, after its package. */
function namesOf(texts: readonly NewFile[], kind: Kind): PluginNames {
  const manifest = texts.find(({ file }) => file === 'package.json')?.text ?? '{}'
  return pluginNames(JSON.parse(manifest).name, kind, new Set())
}

/** Contract: the longest name first, so that no name is replaced inside of another, and none twice. */
function rename(text: string, before: PluginNames, after: PluginNames): string {
  const words = new Map([
    [before.name, after.name],
    [before.options, after.options],
    [`'${before.label}'`, `'${after.label}'`],
    [before.factory, after.factory],
    // A name of one word is the same in every style, and in a sentence it is the function's.
    ...(before.label === before.factory
      ? []
      : ([
          [before.label, after.label],
          [before.snake, after.snake],
        ] as const)),
  ])
  const patterns = [...words.keys()].map((word) => (/^\w+$/.test(word) ? `\\b${word}\\b` : word))
  return text.replaceAll(new RegExp(patterns.join('|'), 'g'), (word) => words.get(word) ?? word)
}

/** Turns a file of this repository into a file of the new package. */
function release(text: string, file: string, { range, copyright }: { range: string; copyright: string }): string {
  if (file === 'LICENSE') return text.replace(/^Copyright .*$/m, () => copyright)
  if (file !== 'package.json') return text
  return releaseManifest(text, range).replace(/^ *"private": true,\n/m, '')
}

function wordsOf(texts: readonly string[]): Set<string> {
  return new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []))
}
