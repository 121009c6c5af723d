import { KernelError, type RunContext } from '@troupe/kernel'
import type { AlwaysAnswer, ApprovalRequest } from './bus.ts'
import type { MessageBus } from './create-bus.ts'

/**
 * Asks all listeners at the same time; the first answer counts.
 * Contract: gives `undefined` if none of them answers; rejects only when the run is aborted; leaves no listener and no timer behind.
 */
export async function askLive(
  bus: MessageBus,
  question: Omit<ApprovalRequest, 'signal'>,
  { signal, clock }: Pick<RunContext, 'signal' | 'clock'>,
  timeoutMs: number,
): Promise<AlwaysAnswer | undefined> {
  signal.throwIfAborted()
  const closed = new AbortController()
  const request: ApprovalRequest = Object.freeze({ ...question, signal: closed.signal })
  const { promise, resolve, reject } = Promise.withResolvers<AlwaysAnswer | undefined>()
  // Set up before the listeners are called, because one of them may abort the run at once.
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  const cancel = clock.after(timeoutMs, () => resolve(undefined))
  try {
    const answers = bus.ask('approval', request, readListenerAnswer)
    for (const each of answers) each.then((answer) => answer && resolve(answer))
    Promise.all(answers).then(() => resolve(undefined))
    return await promise
  } finally {
    cancel()
    signal.removeEventListener('abort', abort)
    closed.abort(new KernelError('ABORTED', `approval ${question.id}: the question is closed`))
  }
}

/** Reads a listener's answer; an invalid one is a failure of the listener. */
function readListenerAnswer(answer: unknown): AlwaysAnswer {
  try {
    return readAnswer(answer)
  } catch (cause) {
    throw new KernelError('LISTENER_FAILED', KernelError.from(cause).message, { cause })
  }
}

/** Reads an answer. Contract: reads every property once and throws unless it is valid, so that only a plain `approved: true` approves. */
export function readAnswer(answer: unknown): AlwaysAnswer {
  const { approved, arguments: edited, message, always } = Object(answer) as Record<string, unknown>
  const fine = (text: unknown) => text === undefined || typeof text === 'string'
  const isKnown = always === undefined || always === 'thread' || always === 'tool'
  if (typeof approved !== 'boolean' || !fine(edited) || !fine(message) || !isKnown) {
    throw new KernelError(
      'VALIDATION_FAILED',
      "approval: expected { approved: boolean, arguments?: text, message?: text, always?: 'thread' or 'tool' }",
    )
  }
  return {
    approved,
    ...(edited !== undefined && { arguments: edited as string }),
    ...(message !== undefined && { message: message as string }),
    ...(always !== undefined && { always }),
  }
}
