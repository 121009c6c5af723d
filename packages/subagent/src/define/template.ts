import type { JsonObject } from '@troupe/kernel'
import { configError } from './config-error.ts'

/** A text with placeholders, compiled once. */
export interface Template {
  /** The names in its placeholders, in order, with the offset at which each first appears. */
  readonly names: ReadonlyMap<string, number>
  render(values: { readonly [name: string]: unknown }): string
}

const PLACEHOLDER = /\$\$\{|\$\{([^}]*)(\}?)/g
const NAME = /^[A-Za-z_][\w-]*$/

/**
 * Compiles a text with `${name}` in it; `$${` is a literal `${`.
 * Contract: placeholders inside values are not replaced; a text is inserted as it is, any other value as JSON, a missing one as an empty text.
 * @example compileTemplate('Find ${what}.').render({ what: 'auth files' }) // 'Find auth files.'
 */
export function compileTemplate(text: string, who = 'template', path: readonly string[] = []): Template {
  const names = new Map<string, number>()
  const pieces: { readonly before: string; readonly name: string }[] = []
  let before = ''
  let end = 0
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [whole, name, closed] = match
    before += text.slice(end, match.index)
    end = match.index + whole.length
    if (name === undefined) {
      before += '${'
      continue
    }
    if (closed === '' || !NAME.test(name)) {
      throw configError(who, path, `must name inputs as \${name}; write $\${ for a literal \${`, whole, match.index)
    }
    pieces.push({ before, name })
    if (!names.has(name)) names.set(name, match.index)
    before = ''
  }
  const rest = before + text.slice(end)
  return {
    names,
    render: (values) =>
      pieces
        .map((piece) => piece.before + shown(Object.hasOwn(values, piece.name) ? values[piece.name] : ''))
        .join('') + rest,
  }
}

/** Contract: throws `CONFIG_INVALID` with every name that is not an input. */
export function checkTemplateNames(
  { names }: Template,
  properties: JsonObject,
  who: string,
  path: readonly string[],
): void {
  const missing = [...names.keys()].filter((name) => !Object.hasOwn(properties, name))
  const [first] = missing
  if (first === undefined) return
  const inputs = Object.keys(properties).join(', ') || 'none'
  const listed = missing.map((name) => `\${${name}}`).join(', ')
  throw configError(who, path, `must name only inputs (${inputs})`, listed, names.get(first))
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
