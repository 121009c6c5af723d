const ESCAPE = /\\(?:u[dD][89abAB][\dA-Fa-f]{2}\\u[dD][c-fC-F][\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|.)/gs

/**
 * JSON with the signs themselves where it writes them as escapes that it does not need, such as `\u0040`.
 * Contract: the same value; works on a text that is not JSON as a whole, too.
 */
export function plainJson(text: string): string {
  return text.includes('\\') ? text.replace(ESCAPE, plain) : text
}

function plain(sign: string): string {
  if (sign === '\\/') return '/'
  if (sign.length < 6) return sign
  return JSON.stringify(JSON.parse(`"${sign}"`)).slice(1, -1)
}
