import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type PluginNames, pluginNames } from './names.ts'

/** What is made, and of what. */
export interface CreatePluginOptions {
  /** The name of the npm package, with or without a scope. */
  readonly name: string
  /** Where to make it. @default a folder in `parent`, called like the package without its scope */
  readonly folder?: string
  /** @default '.' */
  readonly parent?: string
  /** The folder of the plugin to begin with. */
  readonly template: string
  /** Which kernel and testkit it is written for: `^0.1.0`. */
  readonly range: string
}

/** A plugin that was made, and where. */
export interface CreatedPlugin {
  readonly name: string
  readonly folder: string
}

/** What a template consists of. */
export const TEMPLATE_FILES: readonly string[] = [
  'README.md',
  'package.json',
  'src/index.test.ts',
  'src/index.ts',
  'tsconfig.build.json',
  'tsconfig.json',
]

/** Makes a plugin in a folder of its own: the template with its names replaced. */
export function createPlugin({ name, folder, parent = '.', template, range }: CreatePluginOptions): CreatedPlugin {
  const texts = TEMPLATE_FILES.map((file) => ({ file, text: readFileSync(join(template, file), 'utf8') }))
  const names = pluginNames(name, wordsOf(texts.filter(({ file }) => file.endsWith('.ts')).map(({ text }) => text)))
  const target = folder ?? join(parent, names.folder)
  refuseOccupied(target)
  // npm leaves a .gitignore out of what it publishes, so the template cannot bring one.
  const files = [...texts, { file: '.gitignore', text: 'node_modules/\ndist/\n' }]
  for (const { file, text } of files) {
    mkdirSync(dirname(join(target, file)), { recursive: true })
    writeFileSync(join(target, file), rename(text, names, range))
  }
  return { name, folder: target }
}

function rename(text: string, { name, handler, factory, options }: PluginNames, range: string): string {
  const replacements: Record<string, string> = {
    'troupe-handler-shout': name,
    "'shout'": `'${handler}'`,
    shout: factory,
    ShoutOptions: options,
    'workspace:^': range,
  }
  return text
    .replaceAll(
      /troupe-handler-shout|'shout'|\bshout\b|\bShoutOptions\b|workspace:\^/g,
      (word) => replacements[word] ?? word,
    )
    .replace(/"version": ".*"/, '"version": "0.1.0"')
}

function wordsOf(texts: readonly string[]): Set<string> {
  const words = new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []))
  words.delete('shout')
  return words
}

function refuseOccupied(folder: string): void {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is a file. Give another folder after the name.`)
  const [found] = readdirSync(folder).filter((entry) => entry !== '.git')
  if (found !== undefined) {
    throw new Error(`${folder} is not empty: it has ${found}. Empty it, or give another folder after the name.`)
  }
}
