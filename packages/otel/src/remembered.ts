const MOST = 1_000

/** Remembers what was made for each name. Contract: of the first thousand names; for others, which a program must make up, it is made anew. */
export function remembered<Made>(make: (name: string) => Made): (name: string) => Made {
  const all = new Map<string, Made>()
  return (name) => {
    const known = all.get(name)
    if (known !== undefined) return known
    const made = make(name)
    if (all.size < MOST) all.set(name, made)
    return made
  }
}
