import { type ApprovalAnswer, type Clock, KernelError } from '@troupe/kernel'
import type { ApprovalListener, ApprovalRequest, MessageBus, Subscription } from './bus.ts'

/** How long somebody is asked. */
export interface Patience {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly timeoutMs: number
}

/**
 * Asks all who listen at the same time; the first answer counts.
 * Contract: `undefined` if nobody has answered; rejects only when the run is aborted; leaves no listener and no timer behind.
 */
export async function askLive(
  bus: MessageBus,
  question: Omit<ApprovalRequest, 'signal'>,
  { signal, clock, timeoutMs }: Patience,
): Promise<ApprovalAnswer | undefined> {
  signal.throwIfAborted()
  const asked = bus.subscriptions('approval')
  const closed = new AbortController()
  const request = Object.freeze({ ...question, signal: closed.signal })
  const { promise, resolve, reject } = Promise.withResolvers<ApprovalAnswer | undefined>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  const cancel = clock.after(timeoutMs, () => resolve(undefined))
  const leaving: (() => void)[] = []
  try {
    const answers = asked.map(async (subscription) => {
      const left = Promise.withResolvers<undefined>()
      const leave = () => left.resolve(undefined)
      subscription.waiting.add(leave)
      leaving.push(() => subscription.waiting.delete(leave))
      const answer = await Promise.race([answerOf(bus, subscription, request), left.promise])
      if (answer) resolve(answer)
    })
    Promise.all(answers).then(() => resolve(undefined))
    return await promise
  } finally {
    cancel()
    signal.removeEventListener('abort', abort)
    for (const forget of leaving) forget()
    closed.abort(new KernelError('ABORTED', `approval ${question.id}: the question is closed`))
  }
}

/** What a listener answers; a failure is reported and is no answer. */
async function answerOf(
  bus: MessageBus,
  subscription: Subscription,
  request: ApprovalRequest,
): Promise<ApprovalAnswer | undefined> {
  try {
    const answer: unknown = await (subscription.listener as ApprovalListener)(request)
    return answer === undefined ? undefined : readListened(answer)
  } catch (error) {
    // Whoever gives up because the question was closed has not failed.
    if (!request.signal.aborted) bus.failed('approval', subscription, error)
    return undefined
  }
}

/** An answer that cannot be read is the failure of its listener. */
function readListened(answer: unknown): ApprovalAnswer {
  try {
    return readAnswer(answer)
  } catch (cause) {
    throw new KernelError('LISTENER_FAILED', KernelError.from(cause).message, { cause })
  }
}

/** Contract: reads every property once and throws for what is no answer, so that nothing but a plain `approved: true` approves. */
export function readAnswer(answer: unknown): ApprovalAnswer {
  const { approved, arguments: edited, message } = Object(answer) as Record<string, unknown>
  const fine = (text: unknown) => text === undefined || typeof text === 'string'
  if (typeof approved !== 'boolean' || !fine(edited) || !fine(message)) {
    throw new KernelError(
      'VALIDATION_FAILED',
      'approval: expected { approved: boolean, arguments?: text, message?: text }',
    )
  }
  return {
    approved,
    ...(edited !== undefined && { arguments: edited as string }),
    ...(message !== undefined && { message: message as string }),
  }
}
