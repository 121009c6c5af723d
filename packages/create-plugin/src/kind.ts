/** The kinds of plugins. */
export type Kind = 'handler' | 'tool' | 'model' | 'agent' | 'store' | 'callback'

/** All kinds; each has a template. */
export const KINDS: readonly Kind[] = ['handler', 'tool', 'model', 'agent', 'store', 'callback']

/** Contract: throws for a word that is not a kind, with the list of those that are. */
export function kindOf(word: string): Kind {
  const kind = KINDS.find((kind) => kind === word)
  if (kind === undefined) throw new Error(`'${word}' is not a kind of plugin. Use one of ${KINDS.join(', ')}.`)
  return kind
}
