import type { Json } from '@troupe/kernel'
import { redactedJson } from './redacted-json.ts'
import type { RedactionRule } from './redaction-rule.ts'
import { Redactor } from './redactor.ts'

/**
 * Makes a function that replaces in a text, or in each text of a JSON value, for what is not an agent's: requests, logs, state.
 * @example const clean = redactJson([EMAIL])
 */
export function redactJson(rules: readonly RedactionRule[]): (value: Json) => Json {
  const redactor = new Redactor('redactJson', rules)
  return (value) => redactedJson(value, redactor.text)
}
