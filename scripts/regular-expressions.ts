import ts from 'typescript'

/** A regular expression in a source file. */
export interface FoundExpression {
  /** The file and the line. */
  readonly place: string
  readonly source: string
  readonly flags: string
}

/** A regular expression that is built when the program runs. */
export interface BuiltExpression {
  readonly place: string
  readonly code: string
}

/** Finds the regular expressions of a source file by its syntax tree. */
export function regularExpressionsIn(
  file: string,
  code: string,
): { readonly written: readonly FoundExpression[]; readonly built: readonly BuiltExpression[] } {
  const tree = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true)
  const written: FoundExpression[] = []
  const built: BuiltExpression[] = []
  const visit = (node: ts.Node): void => {
    const place = `${file}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      written.push({ place, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    }
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp') {
      built.push({ place, code: node.getText() })
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return { written, built }
}
