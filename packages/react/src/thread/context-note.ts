/** What happened to the context of an agent, in words; undefined for other custom events. */
export function contextNote(name: string | undefined, value: unknown): string | undefined {
  const { messages, names } = (value ?? {}) as { readonly messages?: unknown; readonly names?: unknown }
  if (name === 'compaction') return `${messages} messages summarised`
  if (name === 'compaction-failed') return 'could not be summarised'
  return name === 'tools-loaded' && Array.isArray(names) ? `loaded ${names.join(', ')}` : undefined
}
