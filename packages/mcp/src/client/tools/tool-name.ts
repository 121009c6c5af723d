const LONGEST = 64

/** A name that every model takes: letters, digits, `_` and `-`, at most 64. */
export function toolName(prefix: string, name: string): string {
  const whole = `${prefix}${name}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  return whole.length <= LONGEST ? whole : `${whole.slice(0, LONGEST - 9)}_${hash(`${prefix}${name}`)}`
}

/** Eight digits that tell apart names which are too long. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return (value >>> 0).toString(16).padStart(8, '0')
}
