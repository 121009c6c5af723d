import type { ModelPart } from '@troupe/kernel'

/** What the agents of a composition need of the process that they run in. */
export interface ScriptedHost {
  /** Lets others go on; in a process that was killed it never returns. */
  pause(ticks: number): Promise<void>
  /** Notes that a step begins, named `<runId>/<step>`; `once` if it must not happen twice. */
  begin(step: string, once?: boolean): void
  /** Whether the outcome of a call is to be unknown. */
  isLost(step: string): boolean
  /** What a model call has said before it broke off, with `restart` after each attempt. */
  brokenOff(step: string): readonly ModelPart[]
}
