import type { Effect } from '../conversation/effects.ts'
import type { LeaseFile } from '../served/lease-file.ts'
import type { Findings } from './findings.ts'

/** Whether an effect that a process begins on a lost lease is a violation; it is counted in any case. */
const IS_VIOLATION: boolean = true

/** Counts the effects that processes began when another one had taken their thread. */
export function effectsOnLostLeases(findings: Findings, leases: LeaseFile, effects: readonly Effect[]): number {
  const stale = leases.staleAmong(effects)
  if (IS_VIOLATION) findings.check('no effect begins on a lost lease', stale.length === 0, stale)
  return stale.length
}
