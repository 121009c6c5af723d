/**
 * A text as a part of a key.
 * Contract: printable ASCII without a slash, so that keys can be sent in a header and different parts give different keys; a lone surrogate,
 * which a URI cannot have, is `%u` and its number.
 * @example const key = `tickets/${keyPart(threadId)}`
 */
export function keyPart(text: string): string {
  if (PLAIN.test(text)) return text
  if (PRINTABLE.test(text)) return text.replaceAll('%', '%25').replaceAll('/', '%2F')
  return Array.from(text, (char) =>
    /^[\ud800-\udfff]$/.test(char) ? `%u${char.charCodeAt(0).toString(16)}` : encodeURIComponent(char),
  ).join('')
}

const PLAIN = /^[!-$&-.0-~]*$/
const PRINTABLE = /^[!-~]*$/
