/** Reads what the published packages export, from their sources. */
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { WORKSPACE_OPTIONS } from '../../../../scripts/compiler-options.ts'
import { type Entry, entries, root } from '../../../../scripts/entries.ts'

/** One export of an entry of a published package. */
export interface Export {
  readonly name: string
  /** The source file that declares it, below the root. */
  readonly file: string
  /** A type has nothing at run time. */
  readonly isType: boolean
  /** Whether a doc comment explains it. */
  readonly isExplained: boolean
  /** Whether its doc comment has an `@example`. */
  readonly hasExample: boolean
}

/** An entry of a published package with what it exports. */
export interface EntryExports {
  readonly entry: Entry
  readonly exports: readonly Export[]
}

/** The entries of the published packages, with all their exports in alphabetical order. */
export function publicExports(): readonly EntryExports[] {
  const published = entries().filter(({ folder }) => !isPrivate(folder))
  const program = ts.createProgram(
    published.map(({ file }) => file),
    // Pages have JSX.
    { ...WORKSPACE_OPTIONS, jsx: ts.JsxEmit.ReactJSX },
  )
  const checker = program.getTypeChecker()
  return published.map((entry) => {
    const source = program.getSourceFile(entry.file)
    const module = source && checker.getSymbolAtLocation(source)
    if (!module) throw new Error(`${entry.name}: ${entry.file} is not a module`)
    const exports = checker.getExportsOfModule(module).map((symbol) => readExport(symbol, checker))
    return { entry, exports: exports.sort((a, b) => a.name.localeCompare(b.name, 'en')) }
  })
}

function readExport(symbol: ts.Symbol, checker: ts.TypeChecker): Export {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const file = target.declarations?.[0]?.getSourceFile().fileName ?? ''
  return {
    name: symbol.name,
    file: relative(root, file).replaceAll('\\', '/'),
    isType: !(target.flags & ts.SymbolFlags.Value),
    isExplained: target.getDocumentationComment(checker).length > 0,
    hasExample: target.getJsDocTags(checker).some(({ name }) => name === 'example'),
  }
}

function isPrivate(folder: string): boolean {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).private === true
}
