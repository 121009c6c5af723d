import type { Effect } from '../conversation/effects.ts'
import type { LeaseFile } from '../served/lease-file.ts'
import type { Findings } from './findings.ts'

/** Checks that no process began an effect when another one had taken its thread, and counts those that did. */
export function effectsOnLostLeases(findings: Findings, leases: LeaseFile, effects: readonly Effect[]): number {
  const stale = leases.staleAmong(effects)
  findings.check('no effect begins on a lost lease', stale.length === 0, stale)
  return stale.length
}
