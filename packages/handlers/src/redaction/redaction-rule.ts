import { checkOption, checkOptionNames, type OptionNames } from '@troupe/kernel/kit'

/** Finds the first match that begins at `from` or later. Contract: may look at the text around it, and gives the same for the same signs. */
export type FindMatch = (text: string, from: number) => { readonly start: number; readonly end: number } | undefined

/** Texts that are replaced wherever they are found. */
export interface RedactionRule {
  /** Contract: becomes the replacement, `[name]`, unless `replace` says otherwise. */
  readonly name: string
  /** A text, several, a regular expression with the flag `g`, or a function. */
  readonly match: string | readonly string[] | RegExp | FindMatch
  /** @default `[name]` */
  readonly replace?: string
  /** The most characters that a match has together with what is looked at around it; so many are held back while a text streams. @default 256, or the longest text */
  readonly longest?: number
  /** Whether a match never contains white space: then a text is shown word by word. @default false, or what the texts say */
  readonly oneWord?: boolean
}

/** A rule that is ready to search. */
export interface CompiledRule {
  readonly find: FindMatch
  readonly replace: string
  readonly longest: number
  readonly oneWord: boolean
}

const NAMES: OptionNames<RedactionRule> = { name: true, match: true, replace: true, longest: true, oneWord: true }
const LONGEST = 256

/** Contract: throws `CONFIG_INVALID` for a malformed rule. */
export function compileRules(who: string, rules: readonly RedactionRule[]): readonly CompiledRule[] {
  checkOption(Array.isArray(rules) && rules.length > 0, who, 'rules must be a list of at least one rule', rules)
  return rules.map((rule, index) => {
    const name = `${who}: rules[${index}]`
    checkOptionNames(name, rule, NAMES)
    checkOption(typeof rule.name === 'string' && rule.name !== '', name, 'expected a name', rule.name)
    const { match, replace = `[${rule.name}]` } = rule
    checkOption(typeof replace === 'string', name, 'replace must be a text', replace)
    if (typeof match === 'function' || match instanceof RegExp) {
      const { longest = LONGEST, oneWord = false } = rule
      checkOption(Number.isInteger(longest) && longest >= 1, name, 'longest must be a whole number from 1 on', longest)
      return { find: finderOf(name, match), replace, longest, oneWord }
    }
    const texts = textsOf(name, match)
    const oneWord = texts.every((text) => !/\s/.test(text))
    return { find: findText(texts), replace, longest: texts[0]?.length ?? 1, oneWord }
  })
}

function finderOf(who: string, match: RegExp | FindMatch): FindMatch {
  if (typeof match === 'function') return match
  const finds = match.global && !match.sticky
  checkOption(finds, who, 'match must be an expression with the flag g and without y', match)
  return (text, from) => {
    match.lastIndex = from
    const found = match.exec(text)
    return found ? { start: found.index, end: found.index + found[0].length } : undefined
  }
}

/** The texts of a rule, the longest first, so that one that begins like another is found as a whole. */
function textsOf(who: string, match: string | readonly string[]): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(match) ? match : [match]
  const areTexts = texts.length > 0 && texts.every((text) => typeof text === 'string' && text !== '')
  checkOption(areTexts, who, 'match must be a text, a list of texts, an expression or a function', match)
  return (texts as readonly string[]).toSorted((a, b) => b.length - a.length)
}

/** Contract: stops at the first match, so that a text which is absent is not looked for again after each match of another one. */
function findText(texts: readonly string[]): FindMatch {
  const [only] = texts
  if (texts.length === 1 && only !== undefined) {
    return (text, from) => {
      const start = text.indexOf(only, from)
      return start < 0 ? undefined : { start, end: start + only.length }
    }
  }
  const byFirst = Map.groupBy(texts, (one) => one.charCodeAt(0))
  return (text, from) => {
    for (let start = from; start < text.length; start++) {
      const found = byFirst.get(text.charCodeAt(start))?.find((one) => text.startsWith(one, start))
      if (found !== undefined) return { start, end: start + found.length }
    }
    return undefined
  }
}
