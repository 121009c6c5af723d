import { KernelError, type Store, type Thread } from '@troupe/kernel'
import type { RouteContext } from './route.ts'

/** The thread that a request names. Contract: `NOT_FOUND` unless this owner has such a thread. */
export async function threadOf(
  store: Pick<Store, 'threads'>,
  context: Pick<RouteContext, 'owner' | 'params'>,
): Promise<Thread> {
  const thread = await findThread(store, context)
  if (!thread) throw threadUnknown()
  return thread
}

/** The thread that a request names, if this owner has it. */
export async function findThread(
  { threads }: Pick<Store, 'threads'>,
  { owner, params }: Pick<RouteContext, 'owner' | 'params'>,
): Promise<Thread | undefined> {
  try {
    return await threads.get({ ...owner, threadId: params.threadId as string })
  } catch (error) {
    // No thread can have an id that the store refuses.
    if (!KernelError.is(error, 'VALIDATION_FAILED')) throw error
    return undefined
  }
}

/** The error of a thread that does not exist for this owner. */
export function threadUnknown(): KernelError {
  return new KernelError('NOT_FOUND', 'thread: not found')
}
