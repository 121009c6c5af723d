/** Whether all of it is wanted: `pnpm test:durable`. */
export const WHOLE: boolean = process.env.TROUPE_DURABLE === 'whole'

/** How many runs are in flight when a fault comes. */
export const IN_FLIGHT: number = WHOLE ? 24 : 8
