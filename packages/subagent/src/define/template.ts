import type { JsonObject } from '@troupe/kernel'
import { misfit } from './misfit.ts'

/** A text with places for values, compiled once. */
export interface Template {
  /** The names it asks for, in order, and where each first stands in the text. */
  readonly names: ReadonlyMap<string, number>
  render(values: { readonly [name: string]: unknown }): string
}

const PLACE = /\$\$\{|\$\{([^}]*)(\}?)/g
const NAME = /^[A-Za-z_][\w-]*$/

/**
 * Compiles a text with `${name}` in it; `$${` is a literal `${`.
 * Contract: a value is put in as it is and never looked through for names; a text stays itself, anything else becomes JSON, what is absent becomes nothing.
 * @example compileTemplate('Find ${what}.').render({ what: 'auth files' }) // 'Find auth files.'
 */
export function compileTemplate(text: string, who = 'template', place: readonly string[] = []): Template {
  const names = new Map<string, number>()
  const pieces: { readonly before: string; readonly name: string }[] = []
  let before = ''
  let end = 0
  for (const match of text.matchAll(PLACE)) {
    const [whole, name, closed] = match
    before += text.slice(end, match.index)
    end = match.index + whole.length
    if (name === undefined) {
      before += '${'
      continue
    }
    if (closed === '' || !NAME.test(name)) {
      throw misfit(who, place, `names inputs as \${name}; write $\${ for a literal \${`, whole, match.index)
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

/** Contract: throws `CONFIG_INVALID` and lists every name that is no input. */
export function checkTemplateNames(
  { names }: Template,
  properties: JsonObject,
  who: string,
  place: readonly string[],
): void {
  const missing = [...names.keys()].filter((name) => !Object.hasOwn(properties, name))
  const [first] = missing
  if (first === undefined) return
  const inputs = Object.keys(properties).join(', ') || 'none'
  const listed = missing.map((name) => `\${${name}}`).join(', ')
  throw misfit(who, place, `names only inputs (${inputs})`, listed, names.get(first))
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
