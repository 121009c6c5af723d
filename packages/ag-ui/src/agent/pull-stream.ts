import { KernelError, type PipeStream, type Sink } from '@troupe/kernel'
import { PIPE } from '@troupe/kernel/kit'

/** A stream of the values that `produce` writes. Contract: starts when it is read, and can be read once; calls `onLeave` at once when the reader leaves early. */
export function pullStream<T>(produce: (sink: Sink<T>) => Promise<void>, onLeave: () => void): PipeStream<T> {
  let taken = false
  const take = () => {
    if (taken) throw new KernelError('STREAM_CONSUMED', 'AgUiAgent: the stream of run() can be read only once')
    taken = true
  }
  return {
    async [PIPE](sink) {
      take()
      await produce(sink)
    },
    [Symbol.asyncIterator]() {
      take()
      return new PullIterator(produce, onLeave)
    },
  }
}

type Pull<T> = PromiseWithResolvers<IteratorResult<T, undefined>>

/**
 * Passes values from a producer that pushes to a reader that pulls.
 * Contract: a write resolves when the reader asks for the next value, so that nothing runs on after the reader has left; a reader can leave while it waits.
 */
class PullIterator<T> implements Sink<T>, AsyncIterableIterator<T, undefined> {
  readonly #produce: (sink: Sink<T>) => Promise<void>
  readonly #onLeave: () => void
  readonly #pulls: Pull<T>[] = []
  readonly #parked: { readonly value: T; readonly written: PromiseWithResolvers<void> }[] = []
  /** The pending write of the value that the reader holds. */
  #shown: PromiseWithResolvers<void> | undefined
  #producing: Promise<void> | undefined
  #error: { readonly thrown: unknown } | undefined
  #ended = false

  constructor(produce: (sink: Sink<T>) => Promise<void>, onLeave: () => void) {
    this.#produce = produce
    this.#onLeave = onLeave
  }

  get closed(): boolean {
    return this.#ended
  }

  write(value: T): Promise<void> {
    const written = Promise.withResolvers<void>()
    if (this.#ended) written.reject(gone())
    else {
      this.#parked.push({ value, written })
      const pull = this.#pulls.shift()
      if (pull) this.#give(pull)
    }
    return written.promise
  }

  next(): Promise<IteratorResult<T, undefined>> {
    this.#shown?.resolve()
    this.#shown = undefined
    const pull: Pull<T> = Promise.withResolvers()
    if (this.#parked.length > 0) this.#give(pull)
    else if (this.#ended) this.#end(pull)
    else this.#pulls.push(pull)
    this.#producing ??= this.#run()
    return pull.promise
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    const left = !this.#ended
    this.#close()
    if (left && this.#producing) {
      this.#onLeave()
      await this.#producing
    }
    this.#error = undefined
    return { value: undefined, done: true }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #give(pull: Pull<T>): void {
    const entry = this.#parked.shift()
    if (!entry) return
    this.#shown?.resolve()
    this.#shown = entry.written
    pull.resolve({ value: entry.value, done: false })
  }

  async #run(): Promise<void> {
    try {
      if (!this.#ended) await this.#produce(this)
    } catch (thrown) {
      this.#error = { thrown }
    }
    this.#close()
  }

  #close(): void {
    this.#ended = true
    for (const write of [this.#shown, ...this.#parked.splice(0).map(({ written }) => written)]) write?.reject(gone())
    this.#shown = undefined
    for (const pull of this.#pulls.splice(0)) this.#end(pull)
  }

  #end(pull: Pull<T>): void {
    const error = this.#error
    this.#error = undefined
    if (error) pull.reject(error.thrown)
    else pull.resolve({ value: undefined, done: true })
  }
}

function gone(): KernelError {
  return new KernelError('ABORTED', 'run: the reader has left')
}
