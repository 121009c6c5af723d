import { KernelError, type Store, type Thread } from '@troupe/kernel'
import type { RouteContext } from './route.ts'

/** The thread that a request names. Contract: `NOT_FOUND` unless this owner has such a thread. */
export async function threadOf(
  { threads }: Pick<Store, 'threads'>,
  { owner, params }: Pick<RouteContext, 'owner' | 'params'>,
): Promise<Thread> {
  let thread: Thread | undefined
  try {
    thread = await threads.get({ ...owner, threadId: params.threadId as string })
  } catch (error) {
    // No thread can have an id that the store refuses.
    if (!KernelError.is(error, 'VALIDATION_FAILED')) throw error
  }
  if (!thread) throw threadUnknown()
  return thread
}

/** The error of a thread that does not exist for this owner. */
export function threadUnknown(): KernelError {
  return new KernelError('NOT_FOUND', 'thread: not found')
}
