import type { AgentHandler } from '@troupe/kernel'

/** What agents note of their steps, in a process that may be killed at each of them. */
export interface StepNotes {
  readonly pid: number
  /** Notes that a step begins, named `<runId>/<step>`; `once` if it must not happen twice. */
  begin(step: string, once?: boolean): void
  /** Waits for a moment, in which the process may be killed. */
  pause(at: string): Promise<void>
  /** The handlers of every agent. */
  readonly handlers?: readonly AgentHandler[]
}
