import { checkOption, checkOptionNames, type OptionNames } from '@troupe/kernel/kit'

/** Texts that are replaced wherever they are found. */
export interface RedactionRule {
  /** Contract: becomes the replacement, `[name]`, unless `replace` says otherwise. */
  readonly name: string
  /** A text, several, or a regular expression. */
  readonly match: string | readonly string[] | RegExp
  /** @default `[name]` */
  readonly replace?: string
  /** The most characters that a match has together with what the expression looks at around it; so many are held back while a text streams. @default 256, or the longest text */
  readonly longest?: number
  /** Whether a match never contains white space: then a text is shown word by word. @default false, or what the texts say */
  readonly oneWord?: boolean
}

/** A rule that is ready to search. */
export interface CompiledRule {
  readonly pattern: RegExp
  readonly replace: string
  readonly longest: number
  readonly oneWord: boolean
}

const NAMES: OptionNames<RedactionRule> = { name: true, match: true, replace: true, longest: true, oneWord: true }
/** The signs that mean something in an expression. */
const SIGNS = /[\\^$.*+?()[\]{}|/]/g
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
    return { replace, ...compiled(name, rule, match) }
  })
}

function compiled(who: string, rule: RedactionRule, match: RedactionRule['match']): Omit<CompiledRule, 'replace'> {
  if (match instanceof RegExp) {
    checkOption(!match.sticky, who, 'match must be an expression without the flag y', match)
    const { longest = LONGEST, oneWord = false } = rule
    checkOption(Number.isInteger(longest) && longest >= 1, who, 'longest must be a whole number from 1 on', longest)
    const flags = match.flags.includes('g') ? match.flags : `${match.flags}g`
    return { pattern: new RegExp(match.source, flags), longest, oneWord }
  }
  const texts: readonly unknown[] = Array.isArray(match) ? match : [match]
  const areTexts = texts.length > 0 && texts.every((text) => typeof text === 'string' && text !== '')
  checkOption(areTexts, who, 'match must be an expression, a text or a list of texts', match)
  // The longest first, so that a text that begins like another one is found as a whole.
  const sorted = (texts as readonly string[]).toSorted((a, b) => b.length - a.length)
  return {
    pattern: new RegExp(sorted.map((text) => text.replace(SIGNS, '\\$&')).join('|'), 'g'),
    longest: sorted[0]?.length ?? 1,
    oneWord: sorted.every((text) => !/\s/.test(text)),
  }
}
