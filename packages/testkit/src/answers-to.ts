import { type Answers, type Interrupt, type Json, KernelError } from '@troupe/kernel'

/**
 * Answers to the open questions of a run, whose ids are not known in advance.
 * Contract: a key is the id of a call, the name of an agent that asks outside its calls, or the id of a question. Every question of the same call gets the same answer;
 * a key without an open question is INTERRUPT_UNKNOWN.
 * @example answersTo((await run).interrupts, { 'call-1': { approved: true } })
 */
export function answersTo(
  interrupts: readonly Interrupt[] | undefined,
  answers: { readonly [asker: string]: Json },
): Answers {
  const open = (interrupts ?? []).map(({ id, callId, agentName }) => ({ id, asker: callId ?? agentName }))
  const entries = Object.entries(answers).flatMap(([key, answer]) => {
    const asked = open.filter(({ id, asker }) => key === id || key === asker)
    if (asked.length > 0) return asked.map(({ id }): [string, Json] => [id, answer])
    const askers = open.map(({ asker }) => asker).join(', ')
    throw new KernelError('INTERRUPT_UNKNOWN', `answersTo: no open question of ${key}; open are those of: ${askers}`)
  })
  return Object.fromEntries(entries)
}
