import { KernelError } from '../data/kernel-error.ts'
import type { Sink } from './sink.ts'

interface Parked<T> {
  readonly value: T
  readonly gated: boolean
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

type Pull<T> = { resolve(result: IteratorResult<T, undefined>): void; reject(error: unknown): void }

const DONE: IteratorResult<never, undefined> = Object.freeze({ value: undefined, done: true })

/** Options of `stream`, for streams that own what they read from. */
export interface StreamOptions<T> {
  /** Called once if a consumer leaves its loop; what it returns is awaited before the loop goes on. */
  readonly onLeave?: () => Promise<void>
  /** Whether the producer waits until the consumer has come back for more, so that no side effect begins after a consumer has left. @default the events `tool-start` and `action` */
  readonly gate?: (value: T) => boolean
}

/** Connects a producer that pushes to a consumer that pulls: one value is buffered, further writes wait. */
export class Channel<T> implements Sink<T>, AsyncIterableIterator<T, undefined> {
  readonly #produce: (sink: Sink<T>) => Promise<void>
  readonly #onLeave: (() => Promise<void>) | undefined
  readonly #gates: (value: T) => boolean
  #started = false
  #ended = false
  #left = false
  #error: { readonly thrown: unknown } | undefined
  readonly #pulls: Pull<T>[] = []
  #full = false
  #value: T | undefined
  /** The gated write whose value waits in the channel. */
  #gate: Parked<T> | undefined
  /** The gated write whose value the consumer holds: it goes on when the consumer comes back. */
  #shown: Parked<T> | undefined
  readonly #parked: Parked<T>[] = []

  constructor(produce: (sink: Sink<T>) => Promise<void>, { onLeave, gate = isGated }: StreamOptions<T> = {}) {
    this.#produce = produce
    this.#onLeave = onLeave
    this.#gates = gate
  }

  get closed(): boolean {
    return this.#ended
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  write(value: T): void | Promise<void> {
    if (this.#ended) return refused(leftError())
    const gated = this.#gates(value)
    const pull = this.#pulls.shift()
    if (pull) {
      pull.resolve({ value, done: false })
      if (!gated || this.#pulls.length > 0) return
      this.#shown = parked(value, true)
      return this.#shown.promise
    }
    if (!this.#full) {
      this.#full = true
      this.#value = value
      if (!gated) return
      this.#gate = parked(value, true)
      return this.#gate.promise
    }
    const entry = parked(value, gated)
    this.#parked.push(entry)
    return entry.promise
  }

  next(): Promise<IteratorResult<T, undefined>> {
    this.#shown?.resolve()
    this.#shown = undefined
    if (this.#full) return Promise.resolve({ value: this.#take(), done: false })
    if (this.#error) {
      const { thrown } = this.#error
      this.#error = undefined
      return Promise.reject(thrown)
    }
    if (this.#ended) return Promise.resolve(DONE)
    const promise = new Promise<IteratorResult<T, undefined>>((resolve, reject) => {
      this.#pulls.push({ resolve, reject })
    })
    if (!this.#started) this.#start()
    return promise
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    if (!this.#left) {
      this.#left = true
      this.#ended = true
      this.#full = false
      this.#error = undefined
      for (const pull of this.#pulls.splice(0)) pull.resolve(DONE)
      for (const entry of [this.#shown, this.#gate, ...this.#parked.splice(0)]) {
        // Its writer may no longer wait for it.
        entry?.promise.catch(ignore)
        entry?.reject(leftError())
      }
      await this.#onLeave?.()
    }
    return DONE
  }

  #take(): T {
    const value = this.#value as T
    this.#shown = this.#gate
    this.#gate = undefined
    const entry = this.#parked.shift()
    this.#full = entry !== undefined
    this.#value = entry?.value
    if (entry?.gated) this.#gate = entry
    else entry?.resolve()
    return value
  }

  #start(): void {
    this.#started = true
    const failed = (thrown: unknown) => this.#end({ thrown })
    try {
      this.#produce(this).then(() => this.#end(), failed)
    } catch (thrown) {
      failed(thrown)
    }
  }

  #end(error?: { readonly thrown: unknown }): void {
    if (this.#left) return
    this.#ended = true
    this.#error = error
    for (const pull of this.#pulls.splice(0)) {
      if (this.#error) pull.reject(this.#error.thrown)
      else pull.resolve(DONE)
      this.#error = undefined
    }
  }
}

/** The promise of a refused write. */
export function refused(error: KernelError): Promise<void> {
  return handled(Promise.reject(error))
}

/** Marks a promise as handled, so that it need not be awaited. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore)
  return promise
}

/** Whether an event waits until the consumer has come back for more, so that no side effect begins after a consumer has left. */
export function isGated(value: unknown): boolean {
  const type = (value as { readonly type?: unknown } | undefined)?.type
  return type === 'tool-start' || type === 'action'
}

function parked<T>(value: T, gated: boolean): Parked<T> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  return { value, gated, promise, resolve, reject }
}

function leftError(): KernelError {
  return new KernelError('ABORTED', 'stream: the consumer has left')
}

function ignore(): void {}
