/** An option that the package manager may have taken for its own. */
export interface TakenOption {
  /** Its name: `kind`. */
  readonly name: string
  /** Its values. */
  readonly known: readonly string[]
  /** What the package manager tells of it: its value, 'true' if the value is among the arguments, or nothing. */
  readonly taken: string | undefined
}

/**
 * Finds the value of an option that the package manager took for its own: `npm create troupe-plugin my-clock --kind tool` gives us
 * `my-clock tool`, and tells that there was a `--kind`.
 * Contract: throws if it is not clear which argument is the value.
 */
export function takeBack(
  words: readonly string[],
  { name, known, taken }: TakenOption,
): { readonly value: string | undefined; readonly words: readonly string[] } {
  if (taken !== 'true') return { value: taken || undefined, words }
  const [at, another] = words.flatMap((word, i) => (known.includes(word) ? [i] : []))
  if (at === undefined || another !== undefined) {
    throw new Error(`The ${name} is not clear. Put it last: -- --${name} ${known.join('|')}.`)
  }
  return { value: words[at], words: words.toSpliced(at, 1) }
}
