import { checkId } from './check-id.ts'
import { checkText } from './check-value.ts'
import { checkLength } from './json-text.ts'

/** Checks a large text and its id. */
export function checkBlob(who: string, id: string, text: string): void {
  checkId(who, 'id', id)
  checkText(who, 'a blob', text)
  checkLength(who, 'a blob', text)
}
