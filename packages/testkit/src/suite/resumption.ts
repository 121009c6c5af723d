import type { AgentAction, AgentEvent, Answers, Interrupt, Message, ResumeInfo } from '@troupe/kernel'
import { messageOf } from '@troupe/kernel/history'
import { Fault } from '../fault.ts'

/** The input that resumes an interrupted run. Contract: a run that asked no question is a fault; `suite` was given the answer. */
export function resumption(
  suite: string,
  before: readonly Message[],
  events: readonly AgentEvent[],
  answer: (interrupts: readonly Interrupt[]) => Answers,
): ResumeInfo {
  const messages = [...before]
  let interrupt: (AgentAction & { type: 'interrupt' }) | undefined
  for (const event of events) {
    const message = messageOf(event)
    if (message) messages.push(message)
    if (event.type === 'action' && event.action.type === 'interrupt') interrupt = event.action
  }
  if (!interrupt) {
    throw new Fault(
      `The run asked no question, though ${suite} was given an \`answer\``,
      'Choose an `input` on which the agent asks, or leave `answer` out.',
    )
  }
  return { messages, state: interrupt.state ?? null, answers: answer(interrupt.interrupts) }
}
