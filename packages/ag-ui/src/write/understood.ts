import type { Feature } from '../translate/feature-of.ts'

/** The first `@ag-ui/client` 0.0.x that accepts each of them, by the schemas and the verifier that it was published with. */
export const SINCE: Readonly<Record<Feature, number>> = {
  results: 30,
  parallel: 37,
  activities: 41,
  parts: 41,
  reasoning: 45,
  media: 49,
  subagents: 59,
}

/** What one client accepts. */
export interface Understood extends Readonly<Record<Feature, boolean>> {
  /** Whether it accepts everything: clients from 1.0 on. */
  readonly current: boolean
}

/** The version that a client without one is taken for: the last that needs no activities, reasoning and sub-agents. */
export const ASSUMED_VERSION = '0.0.40'

/**
 * What a client of a version accepts.
 * Contract: an invalid version counts as none, and then `assumed` decides. A client that names no version may see the parts of a message, because they are in a thread only if a client has sent them.
 */
export function understoodBy(version: string | undefined, assumed: string = ASSUMED_VERSION): Understood {
  const named = generationOf(version)
  const generation = named ?? generationOf(assumed) ?? 0
  const features = Object.entries(SINCE).map(([feature, since]) => [feature, generation >= since] as const)
  const understood = Object.fromEntries(features) as Record<Feature, boolean>
  const parts = named === undefined && { parts: true, media: true }
  return { ...understood, ...parts, current: generation === Number.POSITIVE_INFINITY }
}

/** Whether a text is a version that a client can have. */
export function isVersion(version: unknown): boolean {
  return typeof version === 'string' && generationOf(version) !== undefined
}

/** The last number of a version 0.0.x; infinite from 1.0 on. */
function generationOf(version: string | undefined): number | undefined {
  const [, major, patch] = /^(?:([1-9]\d*)(?:\.\d+){0,2}|0\.0\.(\d+))$/.exec(version ?? '') ?? []
  if (major !== undefined) return Number.POSITIVE_INFINITY
  return patch === undefined ? undefined : Number(patch)
}
