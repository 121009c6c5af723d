const AROUND = 300

/** The part of a text around the first of some terms, with a mark where it was cut. */
export function excerpt(text: string, terms: readonly string[]): string {
  const lower = text.toLowerCase()
  const places = terms.map((term) => lower.indexOf(term.toLowerCase())).filter((place) => place >= 0)
  const start = Math.max(0, Math.min(...places, text.length) - AROUND / 2)
  const from = places.length === 0 ? 0 : start
  const to = Math.min(text.length, from + 2 * AROUND)
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
}
