/** Type-checks the `@example`s of doc comments. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { WORKSPACE_OPTIONS } from './compiler-options.ts'
import { entries, root } from './entries.ts'

/** One `@example` of a doc comment. */
export interface Example {
  /** The source file, below the root. */
  readonly file: string
  /** The line of the file on which the code begins. */
  readonly line: number
  readonly code: string
}

const PRELUDE = 'scripts/doc-examples.prelude.ts'
const ENTRIES = entries()

/** Names from outside that examples use; the package of the example has to depend on the library. */
const LIBRARIES: ReadonlyMap<string, string> = new Map([
  ['createServer', 'node:http'],
  ['expect', 'vitest'],
  ['HttpAgent', '@ag-ui/client'],
  ['openai', '@ai-sdk/openai'],
  ['Validator', '@cfworker/json-schema'],
  ['z', 'zod'],
])

/** The examples of the exported declarations of all packages. */
export function allExamples(): readonly Example[] {
  return globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !/\.(test|fixture)\./.test(path))
    .sort()
    .flatMap((path) => examplesIn(path, readFileSync(join(root, path), 'utf8')))
}

/** The examples of the exported declarations in the text of a file, and of their members. */
export function examplesIn(file: string, text: string): readonly Example[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found: Example[] = []
  const visit = (node: ts.Node): void => {
    for (const tag of ts.getJSDocTags(node)) {
      if (tag.tagName.text !== 'example' || tag.parent.parent !== node) continue
      const start = tag.getStart()
      const first = /^@example[ \t]*\r?\n/.test(text.slice(start)) ? 2 : 1
      const line = source.getLineAndCharacterOfPosition(start).line + first
      found.push({ file, line, code: ts.getTextOfJSDocComment(tag.comment) ?? '' })
    }
    ts.forEachChild(node, visit)
  }
  for (const statement of source.statements) {
    const isExported = ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some(isExport)
    if (isExported) visit(statement)
  }
  return found
}

/** The names that the prelude declares. */
export function preludeNames(): readonly string[] {
  const text = readFileSync(join(root, PRELUDE), 'utf8')
  return [...text.matchAll(/^export (?:declare (?:const|function)|{) (\w+)/gm)].map(([, name = '']) => name)
}

const isExport = ({ kind }: ts.Modifier) => kind === ts.SyntaxKind.ExportKeyword

/** Compiles examples. Contract: gives `file:line: what is wrong` for each mistake; an unknown name is one. */
export function mistakesIn(examples: readonly Example[]): readonly string[] {
  const modules = new Map<string, { readonly text: string; readonly example: Example }>()
  const namesOf = exportReader(examples)
  for (const example of examples) {
    const path = join(root, example.file.replace(/\.tsx?$/, `.example-${example.line}$&`))
    modules.set(path, { text: moduleOf(example, namesOf), example })
  }
  const host = ts.createCompilerHost(OPTIONS)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (path) => modules.has(path) || fileExists(path)
  host.readFile = (path) => modules.get(path)?.text ?? readFile(path)
  host.getSourceFile = (path, version, ...more) => {
    const text = modules.get(path)?.text
    return text === undefined ? getSourceFile(path, version, ...more) : ts.createSourceFile(path, text, version)
  }
  const program = ts.createProgram([...modules.keys()], OPTIONS, host)
  return [...modules].flatMap(([path, { example }]) => {
    const source = program.getSourceFile(path)
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    return found.map(({ messageText, start = 0 }) => {
      // The first line of the module has the imports.
      const below = Math.max((source?.getLineAndCharacterOfPosition(start).line ?? 0) - 1, 0)
      return `${example.file}:${example.line + below}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
  })
}

/** The module of an example: imports on its first line, the code in a function. */
function moduleOf({ file, code }: Example, namesOf: (file: string) => ReadonlySet<string>): string {
  const ownFolder = file.split('/').slice(0, 2).join('/')
  const own = ENTRIES.filter(({ folder }) => folder === ownFolder)
  const kernel = ENTRIES.filter(({ folder }) => folder === 'packages/kernel')
  const scope = [join(root, file), ...[...own, ...kernel].map((entry) => entry.file), join(root, PRELUDE)]
  const imports = [...new Set(code.match(/[A-Za-z_$][\w$]*/g))].map((name) => {
    const from = scope.find((path) => namesOf(path).has(name)) ?? LIBRARIES.get(name)
    return from === undefined ? '' : `import { ${name} } from ${JSON.stringify(from)}; `
  })
  return `${imports.join('')}export async function* example() {\n${code}\n}\n`
}

/** Reads the names that a file exports, types included. */
function exportReader(examples: readonly Example[]): (file: string) => ReadonlySet<string> {
  const files = [...examples.map(({ file }) => file), PRELUDE].map((file) => join(root, file))
  const program = ts.createProgram([...files, ...ENTRIES.map(({ file }) => file)], OPTIONS)
  const checker = program.getTypeChecker()
  const known = new Map<string, ReadonlySet<string>>()
  return (file) => {
    let names = known.get(file)
    if (!names) {
      const source = program.getSourceFile(file)
      const module = source && checker.getSymbolAtLocation(source)
      names = new Set(module && checker.getExportsOfModule(module).map(({ name }) => name))
      known.set(file, names)
    }
    return names
  }
}

const OPTIONS: ts.CompilerOptions = {
  ...WORKSPACE_OPTIONS,
  declaration: false,
  isolatedDeclarations: false,
  jsx: ts.JsxEmit.ReactJSX,
  // An example imports types and values alike.
  verbatimModuleSyntax: false,
}
