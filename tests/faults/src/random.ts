/** Random choices that are the same for the same seed. */
export interface Random {
  /** A baseline number from 0 up to, without, `end`. */
  below(end: number): number
  pick<T>(list: readonly T[]): T
  chance(of: number): boolean
  shuffled<T>(list: readonly T[]): T[]
}

/** Makes random choices from a seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b1)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number) => Math.floor(next() * end)
  return {
    below,
    pick: <T>(list: readonly T[]) => list[below(list.length)] as T,
    chance: (of) => next() < of,
    shuffled(list) {
      const rest = [...list]
      return list.map(() => rest.splice(below(rest.length), 1)[0] as (typeof list)[number])
    },
  }
}
