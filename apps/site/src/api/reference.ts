/** Writes the API reference with TypeDoc, from the doc comments of everything that the published packages export. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  Application,
  Comment,
  CommentTag,
  Converter,
  type DeclarationReflection,
  LogLevel,
  type ProjectReflection,
  ReflectionKind,
  type TypeDocOptions,
} from 'typedoc'
import { addressOf, type Page } from '../pages.ts'
import { root } from '../repository.ts'
import type { ApiPage } from './topics.ts'
import { usesOf } from './uses.ts'

/** How many pages are listed as uses of one export. */
const SHOWN_USES = 4

/** The reference, as pages below `api/`. Contract: `folder` is for files on the way, and is made anew. */
export async function writeReference(
  apiPages: readonly ApiPage[],
  pages: readonly Page[],
  folder: string,
): Promise<readonly Page[]> {
  rmSync(folder, { recursive: true, force: true })
  const entries = join(folder, 'entries')
  for (const page of apiPages) writeEntry(page, join(entries, `${page.path}.ts`))
  const base = { extends: join(root, 'tsconfig.base.json'), include: ['**/*.ts'] }
  writeFileSync(
    join(entries, 'tsconfig.json'),
    JSON.stringify({ ...base, compilerOptions: { isolatedDeclarations: false, jsx: 'react-jsx' } }),
  )
  const out = join(folder, 'markdown')
  await convert(apiPages, entries, out, pages)
  return apiPages.map((page) => readPage(page, readFileSync(join(out, `${page.path}.md`), 'utf8')))
}

/** TypeDoc makes a page of a module, so each page is a module that exports what is on it. */
function writeEntry({ path, exports, entryFile }: ApiPage, file: string): void {
  const names = exports.map(({ name, isType }) => (isType ? `type ${name}` : name))
  mkdirSync(dirname(file), { recursive: true })
  const from = JSON.stringify(entryFile)
  writeFileSync(file, `/** @module ${path} */\nexport { ${names.join(', ')} } from ${from}\n`)
}

async function convert(
  apiPages: readonly ApiPage[],
  entries: string,
  out: string,
  pages: readonly Page[],
): Promise<void> {
  const app = await Application.bootstrapWithPlugins({
    ...OPTIONS,
    entryPoints: apiPages.map(({ path }) => join(entries, `${path}.ts`)),
    tsconfig: join(entries, 'tsconfig.json'),
    basePath: root,
    outputs: [{ name: 'markdown', path: out }],
  } as Partial<TypeDocOptions>)
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => addUses(project, apiPages, pages))
  const project = await app.convert()
  if (!project) throw new Error('TypeDoc could not read the packages')
  await app.generateOutputs(project)
  if (app.logger.hasErrors() || app.logger.hasWarnings())
    throw new Error('TypeDoc has complaints about doc comments; they are above')
}

/** The options of TypeDoc and its Markdown plugin. */
const OPTIONS = {
  plugin: ['typedoc-plugin-markdown'],
  router: 'module',
  readme: 'none',
  logLevel: LogLevel.Warn,
  // `tsc` checks the types.
  skipErrorChecking: true,
  disableSources: true,
  excludePrivate: true,
  excludeInternal: true,
  groupOrder: ['Functions', 'Classes', 'Variables', 'Interfaces', 'Type Aliases', '*'],
  hidePageHeader: true,
  hideBreadcrumbs: true,
  hideGroupHeadings: true,
  useCodeBlocks: true,
  expandParameters: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  tableColumnSettings: { hideInherited: true, hideOverrides: true, hideSources: true, hideModifiers: true },
  // A name of a foreign library is explained there.
  validation: { notExported: false, invalidLink: true, invalidPath: false, rewrittenLink: true },
}

/** Adds links to the guides that use an export. */
function addUses(project: ProjectReflection, apiPages: readonly ApiPage[], pages: readonly Page[]): void {
  const uses = usesOf(pages)
  for (const module of project.children ?? []) {
    const entryName = apiPages.find(({ path }) => path === module.name)?.entryName
    for (const reflection of module.children ?? []) {
      const links = (uses.get(`${entryName} ${reflection.name}`) ?? []).slice(0, SHOWN_USES)
      const text = links.map(({ title, path }) => `[${title}](${addressOf(path)})`).join(', ')
      if (text !== '') commentOf(reflection).blockTags.push(new CommentTag('@see', [{ kind: 'text', text }]))
    }
  }
}

/** The comment that is shown for an export: of a function, that of its last signature. */
function commentOf(reflection: DeclarationReflection): Comment {
  const shown = reflection.kindOf(ReflectionKind.Function) ? (reflection.signatures?.at(-1) ?? reflection) : reflection
  shown.comment ??= new Comment()
  return shown.comment
}

/** Type parameters of which only the names are known, which the signature shows already. */
const BARE_TYPE_PARAMETERS = /^#+ Type Parameters\n\n\| Type Parameter \|\n\| -+ \|\n(?:\| .*\n)+\n/gm

/** Makes a page of what TypeDoc wrote: a title and the import above it. */
function readPage({ path, title, entryName, exports }: ApiPage, written: string): Page {
  const values = exports.filter(({ isType }) => !isType).map(({ name }) => name)
  const types = exports.filter(({ isType }) => isType).map(({ name }) => name)
  const summary = `${entryName}: ${[...values, ...types].slice(0, 12).join(', ')}${exports.length > 12 ? ', …' : ''}`
  const body = written
    .replace(/^# .*\n/, '')
    .replaceAll(/^(#+) See$/gm, '$1 In the guides')
    .replaceAll(BARE_TYPE_PARAMETERS, '')
  const markdown = `# ${title}\n\nEverything on this page is imported from \`${entryName}\`.\n${body}`
  return { source: '', path: `api/${path}.md`, markdown, title, summary }
}
