import type { CancelMode, ThreadRef } from '@troupe/kernel'

/** A run that can be cancelled. */
interface Stoppable {
  cancel(mode: CancelMode, runId: string | undefined): boolean
}

/** The runs of this process by thread; they are cancelled directly, and queue in the order in which they came. */
export class LocalRuns {
  readonly #running: Map<string, { readonly run: Stoppable; readonly ended: PromiseWithResolvers<void> }> = new Map()
  readonly #queues: Map<string, Promise<void>> = new Map()

  cancel(ref: ThreadRef, mode: CancelMode, runId: string | undefined): boolean {
    return this.#running.get(keyOf(ref))?.run.cancel(mode, runId) ?? false
  }

  /** Adds a run that holds its thread; gives the function that removes it. */
  register(ref: ThreadRef, run: Stoppable): () => void {
    const key = keyOf(ref)
    const entry = { run, ended: Promise.withResolvers<void>() }
    this.#running.set(key, entry)
    return () => {
      if (this.#running.get(key) === entry) this.#running.delete(key)
      entry.ended.resolve()
    }
  }

  /** Settles when the run that holds the thread has released it; `undefined` if no run of this process holds it. */
  freed(ref: ThreadRef): Promise<void> | undefined {
    return this.#running.get(keyOf(ref))?.ended.promise
  }

  /** Adds a run to the queue of a thread; `before` settles when it is first, and `leave` takes it out. */
  queue(ref: ThreadRef): { readonly before: Promise<void> | undefined; leave(): void } {
    const key = keyOf(ref)
    const before = this.#queues.get(key)
    const { promise, resolve } = Promise.withResolvers<void>()
    // A run that leaves early must not let the runs behind it overtake those in front.
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
