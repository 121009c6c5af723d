/** Matches one name of a path; `undefined` stands for `**`, which is any number of names, none included. */
export type SegmentPattern = ((name: string) => boolean) | undefined

/** Matches pattern by pattern over all names, so that many `**` cost no more than one. */
export function matchSegments(patterns: readonly SegmentPattern[], names: readonly string[]): boolean {
  // By a number of names: whether the patterns so far match the first so many names.
  let reached = [true, ...names.map(() => false)]
  for (const matches of patterns) reached = matches ? afterName(matches, names, reached) : afterAny(reached)
  return reached[names.length] === true
}

function afterName(
  matches: (name: string) => boolean,
  names: readonly string[],
  reached: readonly boolean[],
): boolean[] {
  return [false, ...names.map((name, i) => reached[i] === true && matches(name))]
}

function afterAny(reached: readonly boolean[]): boolean[] {
  const first = reached.indexOf(true)
  return reached.map((_, i) => first !== -1 && i >= first)
}
