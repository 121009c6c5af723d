import { type Answers, type CallScope, type Interrupt, KernelError } from '@troupe/kernel'

/** The questions that the hooks of one run ask, and the answers that they get. */
export class HookQuestions implements CallScope {
  readonly answers: Answers
  readonly asked: Interrupt[] = []

  constructor(answers: Answers) {
    this.answers = answers
  }

  onInterrupt(interrupts: readonly Interrupt[]): void {
    this.asked.push(...interrupts)
  }

  /** Contract: a question counts even if the hook caught its rejection. */
  throwIfAsked(): void {
    if (this.asked.length === 0) return
    const interruptIds = this.asked.map(({ id }) => id)
    throw new KernelError('INTERRUPTED', `interrupt: waiting for an answer to ${interruptIds.join(', ')}`, {
      details: { interruptIds },
    })
  }
}
