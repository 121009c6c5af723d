import type { CancelMode, ThreadRef } from '@troupe/kernel'

/** A run that can be told to stop. */
interface Stoppable {
  cancel(mode: CancelMode, runId: string | undefined): boolean
}

/** The runs of this process, by thread: they are cancelled without a detour, and wait for each other in the order they came. */
export class LocalRuns {
  readonly #running: Map<string, { readonly run: Stoppable; readonly ended: PromiseWithResolvers<void> }> = new Map()
  readonly #queues: Map<string, Promise<void>> = new Map()

  cancel(ref: ThreadRef, mode: CancelMode, runId: string | undefined): boolean {
    return this.#running.get(keyOf(ref))?.run.cancel(mode, runId) ?? false
  }

  /** Enters a run that holds its thread; gives the way out. */
  register(ref: ThreadRef, run: Stoppable): () => void {
    const key = keyOf(ref)
    const entry = { run, ended: Promise.withResolvers<void>() }
    this.#running.set(key, entry)
    return () => {
      if (this.#running.get(key) === entry) this.#running.delete(key)
      entry.ended.resolve()
    }
  }

  /** Settles when the run that now holds the thread lets go; nothing if none of this process does. */
  freed(ref: ThreadRef): Promise<void> | undefined {
    return this.#running.get(keyOf(ref))?.ended.promise
  }

  /** A place in the line of those that wait for a thread: who stands before, and the way out. */
  queue(ref: ThreadRef): { readonly before: Promise<void> | undefined; leave(): void } {
    const key = keyOf(ref)
    const before = this.#queues.get(key)
    const { promise, resolve } = Promise.withResolvers<void>()
    // Who gives up while others wait before must not let those behind pass them.
    const entry = before ? Promise.all([before, promise]).then(() => undefined) : promise
    this.#queues.set(key, entry)
    entry.then(() => {
      if (this.#queues.get(key) === entry) this.#queues.delete(key)
    })
    return { before, leave: resolve }
  }
}

function keyOf({ app, user, threadId }: ThreadRef): string {
  return JSON.stringify([app, user, threadId])
}
