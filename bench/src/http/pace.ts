/** How the deltas of each run come from its model: all at once, or one every ten milliseconds. */
export const PACES = { burst: 0, paced: 10 } as const
export type Pace = keyof typeof PACES

/** The servers, the one by hand first: each ratio is to it. */
export const KINDS = ['bare', 'memory', 'sqlite', 'postgres'] as const
export type Kind = (typeof KINDS)[number]

/** Deltas of a run. */
export const DELTAS = 200
