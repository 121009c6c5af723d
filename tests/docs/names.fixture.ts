import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { WORKSPACE_OPTIONS } from '../../scripts/compiler-options.ts'
import { entries } from '../../scripts/entries.ts'
import { root } from './guide.fixture.ts'

/** What the packages declare for those who use them. */
export interface Names {
  /** The entries: `@troupe/kernel/run`. */
  readonly entries: ReadonlySet<string>
  /** Exports, members of types, parameters, and the texts that types allow. */
  readonly names: ReadonlySet<string>
  /** Whether an exported function takes an option of this name; true for a name that is not a function with options. */
  takes(callee: string, option: string): boolean
  /** Whether an option of this name may have this text; true for an option that may have any. */
  allows(option: string, text: string): boolean
}

/** Words of the language, of Node and of the tools, which no package declares. */
const LANGUAGE = new Set(
  `await async import from type export const new true false undefined null string number boolean void Promise Request Response AbortSignal
  Symbol asyncDispose instanceof console log fetch process args throw return Error Record Partial Pick vitest tsc node npm npx pnpm zod awilix
  http src index ts md using name z object`.split(/\s+/),
)

/** Reads the declarations of all packages that are published. */
export function readNames(): Names {
  const published = entries().filter(({ folder }) => !JSON.parse(read(`${folder}/package.json`)).private)
  const files = published.map(({ file }) => file)
  const program = ts.createProgram(files, WORKSPACE_OPTIONS)
  const checker = program.getTypeChecker()
  const exported = new Map<string, ts.Symbol>()
  for (const file of files) {
    const source = program.getSourceFile(file)
    const module = source && checker.getSymbolAtLocation(source)
    for (const symbol of module ? checker.getExportsOfModule(module) : [])
      exported.set(symbol.name, resolved(symbol, checker))
  }
  const texts = new Map<string, Set<string>>()
  const own = program.getSourceFiles().filter(({ fileName }) => /\/packages\/[\w-]+\/src\//.test(fileName))
  for (const source of own) readTexts(source, checker, texts)
  return {
    entries: new Set(published.map(({ name }) => name)),
    names: new Set([...exported.keys(), ...own.flatMap(namesIn), ...errorCodes()]),
    takes(callee, option) {
      const symbol = exported.get(callee)
      const declaration = symbol?.valueDeclaration
      if (!symbol || !declaration) return true
      const type = checker.getTypeOfSymbolAtLocation(symbol, declaration)
      const signatures = [...type.getCallSignatures(), ...type.getConstructSignatures()]
      const parameters = signatures.flatMap(({ parameters }) => parameters)
      const options = parameters.map((one) => checker.getTypeOfSymbolAtLocation(one, declaration))
      return options.length === 0 || options.some((one) => optionsOf(one, checker).has(option))
    },
    allows: (option, text) => texts.get(option)?.has(text) ?? true,
  }
}

/** The names of a text of inline code that are not known: entries, names, options of calls, texts of options. */
export function unknownNames(code: string, names: Names, local: ReadonlySet<string>): readonly string[] {
  const entries = code.match(/@troupe\/[\w/-]+/g) ?? []
  const words = code.replaceAll(NO_NAMES, ' ').match(/[A-Za-z_$][\w$]*(?:-[\w$]+)*/g) ?? []
  const isKnown = (word: string) =>
    names.names.has(word) || local.has(word) || LANGUAGE.has(word) || /_(?:KEY|URL)$/.test(word)
  const settings = [...code.matchAll(/\b(\w+): '([^']*)'/g)].map(
    ([, option = '', text = '']) => [option, text] as const,
  )
  return [
    ...entries.filter((name) => !names.entries.has(name)),
    ...words.filter((word) => !isKnown(word)),
    ...optionsIn(code).flatMap(([callee, option]) => (names.takes(callee, option) ? [] : [`${callee}: ${option}`])),
    ...settings.flatMap(([option, text]) => (names.allows(option, text) ? [] : [`${option}: '${text}'`])),
  ]
}

/** Texts, packages, paths, files and flags. */
const NO_NAMES =
  /'[^']*'|@[\w-]+\/[\w./-]+|\.{0,2}[\w-]*\/[\w./*-]*|\b[\w-]+\.(?:ts|tsx|md|json|db)\b|(?<!\w)--?[\w-]+|\bhttps?:\S+/g

/** The words of the sources below a folder, for a page that speaks about them. */
export function wordsOfSources(...patterns: readonly string[]): ReadonlySet<string> {
  const files = patterns.flatMap((pattern) =>
    globSync(pattern, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] }),
  )
  return new Set(files.flatMap((file) => read(file).match(/[A-Za-z_$][\w$]*/g) ?? []))
}

/** The options that the calls in a text of code name, by the function. */
function optionsIn(code: string): readonly (readonly [string, string])[] {
  const calls: (ts.CallExpression | ts.NewExpression)[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) calls.push(node)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('inline.ts', code, ts.ScriptTarget.Latest, true))
  return calls.flatMap((call) => {
    const callee = call.expression.getText()
    const properties = (call.arguments ?? []).flatMap((one) =>
      ts.isObjectLiteralExpression(one) ? [...one.properties] : [],
    )
    return properties.flatMap(({ name }) => (name && ts.isIdentifier(name) ? [[callee, name.text] as const] : []))
  })
}

/** Notes the texts that a member may have, if it is a choice of texts. A name that may be any text somewhere may be any text. */
function readTexts(source: ts.SourceFile, checker: ts.TypeChecker, texts: Map<string, Set<string>>): void {
  const visit = (node: ts.Node): void => {
    if (ts.isPropertySignature(node) && node.type) {
      const name = node.name.getText(source)
      const known = texts.get(name) ?? []
      const choices = choicesOf(node.type, checker)
      texts.set(name, choices && known !== ANY_TEXT ? new Set([...known, ...choices]) : ANY_TEXT)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
}

/** The texts that a type allows, if it allows nothing else. */
function choicesOf(node: ts.TypeNode, checker: ts.TypeChecker): readonly string[] | undefined {
  const type = checker.getTypeFromTypeNode(node)
  const parts = type.isUnion() ? type.types : [type]
  const texts = parts.filter((part) => part.isStringLiteral())
  return texts.length === parts.length ? texts.map(({ value }) => value) : undefined
}

/** Has every text. */
const ANY_TEXT = new (class extends Set<string> {
  override has(): boolean {
    return true
  }
})()

function optionsOf(type: ts.Type, checker: ts.TypeChecker): ReadonlySet<string> {
  const parts = type.isUnion() ? type.types : [checker.getApparentType(type)]
  return new Set(parts.flatMap((part) => part.getProperties().map(({ name }) => name)))
}

/** The members, parameters and texts that the declarations of a file name. */
function namesIn(source: ts.SourceFile): readonly string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const isNamed = ts.isPropertySignature(node) || ts.isMethodSignature(node) || ts.isPropertyDeclaration(node)
    if ((isNamed || ts.isMethodDeclaration(node) || ts.isParameter(node)) && ts.isIdentifier(node.name))
      found.push(node.name.text)
    if (ts.isPropertySignature(node) && ts.isStringLiteral(node.name)) found.push(node.name.text)
    if (ts.isBindingElement(node) && ts.isIdentifier(node.propertyName ?? node.name))
      found.push((node.propertyName ?? node.name).getText(source))
    if (ts.isStringLiteral(node)) found.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function errorCodes(): readonly string[] {
  return [...read('docs/errors.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code = '']) => code)
}

function resolved(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
