import type { ResumeEntry } from '@ag-ui/core'
import { type Answers, type Interrupt, type Json, KernelError, type Thread } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'

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

/**
 * The answers of a `resume` array.
 * Contract: covers every open question or throws (`INTERRUPT_UNANSWERED`, `INTERRUPT_UNKNOWN`, `INTERRUPT_EXPIRED`); undefined if all answers were taken before.
 */
export function answersOf(
  resume: readonly ResumeEntry[],
  open: readonly Interrupt[],
  done: ReadonlySet<string>,
  now: number,
): Answers | undefined {
  const questions = new Map(open.map((interrupt) => [interrupt.id, interrupt]))
  const answers: [string, Json][] = []
  for (const entry of resume) {
    const { interruptId } = entry
    const interrupt = questions.get(interruptId)
    if (!interrupt && done.has(answerMark(interruptId))) continue
    if (!interrupt) throw unknown(interruptId, open)
    const { expiresAt } = interrupt
    if (expiresAt !== undefined && expiresAt <= now) {
      throw new KernelError('INTERRUPT_EXPIRED', `resume: the time limit to answer ${interruptId} has passed`, {
        details: { id: interruptId, expiresAt },
      })
    }
    answers.push([interruptId, answerOf(entry, interrupt)])
  }
  if (answers.length === 0) return undefined
  const missing = open.map(({ id }) => id).filter((id) => !answers.some(([answered]) => answered === id))
  if (missing.length > 0) {
    const message = `resume: answer all open questions in one request; missing: ${missing.join(', ')}`
    throw new KernelError('INTERRUPT_UNANSWERED', message, { details: { missing } })
  }
  return Object.fromEntries(answers)
}

/** A person who cancels refuses what was to be approved; any other question gets `null`. */
function answerOf({ status, payload }: ResumeEntry, { reason }: Interrupt): Json {
  if (status === 'resolved') return (payload ?? null) as Json
  return reason === 'approval' ? { approved: false } : null
}

function unknown(id: string, open: readonly Interrupt[]): KernelError {
  const ids = open.map((interrupt) => interrupt.id)
  const message = `resume: expected ${ids.length > 0 ? `one of the open questions ${ids.join(', ')}` : 'no answer, because no question is open'}, ${got(id)}`
  return new KernelError('INTERRUPT_UNKNOWN', message, { details: { open: ids } })
}
