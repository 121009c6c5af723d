import type { Thread } from '@troupe/kernel'

/** Gives the ids of the calls that a thread waits for: those of long-running tools, and those that ask a person. */
export function awaitedCalls({ openCalls, checkpoint }: Pick<Thread, 'openCalls' | 'checkpoint'>): readonly string[] {
  const asked = checkpoint?.interrupts.flatMap(({ callId }) => callId ?? []) ?? []
  return [...openCalls.map(({ callId }) => callId), ...asked]
}
