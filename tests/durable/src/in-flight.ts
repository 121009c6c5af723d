import { expect } from 'vitest'
import type { Plan } from './agents.ts'
import { faultsOf, repeated } from './check-run.ts'
import type { Cluster } from './cluster.ts'
import { type Talk, talk } from './talk.ts'

const PLAN: Plan = { turns: 3, calls: ['send', 'look'], wordMs: 25, callMs: 25 }

/** Lets runs be in flight when a fault comes. Contract: every run is complete, its reader and its thread have everything once, and no `once` call was made twice. */
export async function survives(cluster: Cluster, count: number, fault: () => Promise<void>): Promise<void> {
  const chat = cluster.runner()
  const talks = Array.from({ length: count }, () => talk(chat, PLAN))
  await Promise.all(talks.map(({ seen }) => seen(({ type }) => type === 'text-delta')))
  await fault()
  await expectComplete(cluster, talks)
}

/** Expects runs to be complete and sound. */
export async function expectComplete(cluster: Cluster, talks: readonly Talk[]): Promise<void> {
  const ends = await Promise.all(talks.map(({ ended }) => ended))
  const outcomes = ends.map((end) => (end?.type === 'run-end' && !end.error ? end.outcome : JSON.stringify(end)))
  expect(outcomes).toEqual(talks.map(() => 'complete'))
  for (const { ref, runId, events } of talks) expect(await faultsOf(cluster.store, ref, runId, events)).toEqual([])
  expect(repeated(cluster.effects)).toEqual([])
}
