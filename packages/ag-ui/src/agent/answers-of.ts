import type { ResumeEntry } from '@ag-ui/core'
import { type Answers, type Interrupt, type Json, KernelError, type Thread } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import { isApproval } from '../translate/interrupt-of.ts'
import { approvalAnswer } from './approval-answer.ts'

/** The id under which a taken answer is stored among the processed messages. */
export function answerMark(interruptId: string): string {
  return `resume:${interruptId}`
}

/** The questions of a thread that can be answered. */
export function openInterrupts(thread: Pick<Thread, 'checkpoint'> | undefined): readonly Interrupt[] {
  const checkpoint = thread?.checkpoint
  return checkpoint && checkpoint.resumedBy === undefined ? checkpoint.interrupts : []
}

/** The marks of answers that a run took without finishing: its effects are unknown, so they are not taken again. */
export function takenAnswers(thread: Pick<Thread, 'checkpoint'> | undefined): readonly string[] {
  const checkpoint = thread?.checkpoint
  return checkpoint?.resumedBy === undefined ? [] : checkpoint.interrupts.map(({ id }) => answerMark(id))
}

/** What a `resume` array says: the answers, and the ids of the questions that it cancels. */
export interface GivenAnswers {
  readonly answers: Answers
  readonly closed: readonly string[]
}

/**
 * Reads a `resume` array.
 * Contract: covers every open question or throws (`INTERRUPT_UNANSWERED`, `INTERRUPT_UNKNOWN`, `INTERRUPT_EXPIRED`, `VALIDATION_FAILED`); undefined if all answers were taken before. A question can be cancelled at any time.
 */
export function answersOf(
  resume: readonly ResumeEntry[],
  open: readonly Interrupt[],
  done: ReadonlySet<string>,
  now: number,
): GivenAnswers | undefined {
  const questions = new Map(open.map((interrupt) => [interrupt.id, interrupt]))
  const answers: [string, Json][] = []
  const closed: string[] = []
  for (const entry of resume) {
    const { interruptId } = entry
    const interrupt = questions.get(interruptId)
    if (!interrupt && done.has(answerMark(interruptId))) continue
    if (!interrupt) throw unknown(interruptId, open)
    if (entry.status === 'cancelled') {
      closed.push(interruptId)
      continue
    }
    answers.push([interruptId, answerOf(entry, interrupt, now)])
  }
  const covered = new Set([...closed, ...answers.map(([id]) => id)])
  if (covered.size === 0) return undefined
  const missing = open.map(({ id }) => id).filter((id) => !covered.has(id))
  if (missing.length > 0) {
    const message = `resume: answer all open questions in one request; missing: ${missing.join(', ')}`
    throw new KernelError('INTERRUPT_UNANSWERED', message, { details: { missing } })
  }
  return { answers: Object.fromEntries(answers), closed }
}

function answerOf({ interruptId, payload = null }: ResumeEntry, interrupt: Interrupt, now: number): Json {
  const { expiresAt } = interrupt
  if (expiresAt !== undefined && expiresAt <= now) {
    throw new KernelError('INTERRUPT_EXPIRED', `resume: the time limit to answer ${interruptId} has passed`, {
      details: { id: interruptId, expiresAt },
    })
  }
  return isApproval(interrupt) ? approvalAnswer(interrupt, payload as Json) : (payload as Json)
}

function unknown(id: string, open: readonly Interrupt[]): KernelError {
  const ids = open.map((interrupt) => interrupt.id)
  const message = `resume: expected ${ids.length > 0 ? `one of the open questions ${ids.join(', ')}` : 'no answer, because no question is open'}, ${got(id)}`
  return new KernelError('INTERRUPT_UNKNOWN', message, { details: { open: ids } })
}
