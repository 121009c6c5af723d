/** The name under which a client knows a tool. */
export function ownName(name: string, prefix = ''): string {
  return prefix !== '' && name.length > prefix.length && name.startsWith(prefix) ? name.slice(prefix.length) : name
}
