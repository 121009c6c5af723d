import { type AgentEvent, KernelError, type Run, type RunResult } from '@troupe/kernel'

/** A run that begins when it is first read, if it may. Contract: one that may not never began: it has no events, and awaiting it throws the reason. */
export class LateRun<Output> implements Run<Output> {
  readonly runId: string
  readonly #prepare: () => Promise<() => Run<Output>>
  /** A run is a thenable, so it is in an object. */
  #begun: Promise<{ readonly run: Run<Output> }> | undefined
  #left = false

  /** Contract: `prepare` is called once, and gives what begins the run. */
  constructor(runId: string, prepare: () => Promise<() => Run<Output>>) {
    this.runId = runId
    this.#prepare = prepare
  }

  // biome-ignore lint/suspicious/noThenProperty: a run is awaited
  get then(): Run<Output>['then'] {
    return (done, failed) => this.#result().then(done, failed)
  }

  get catch(): Run<Output>['catch'] {
    return (failed) => this.#result().catch(failed)
  }

  get finally(): Run<Output>['finally'] {
    return (done) => this.#result().finally(done)
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent> {
    return this.#iterator((run) => run[Symbol.asyncIterator](), true)
  }

  eventsWithoutThrowing(): AsyncIterable<AgentEvent> {
    const open = (run: Run<Output>) => run.eventsWithoutThrowing()[Symbol.asyncIterator]()
    return { [Symbol.asyncIterator]: () => this.#iterator(open, false) }
  }

  #iterator(open: (run: Run<Output>) => AsyncIterator<AgentEvent>, throws: boolean): AsyncIterator<AgentEvent> {
    let inner: AsyncIterator<AgentEvent> | undefined
    const end = { done: true, value: undefined } as const
    return {
      next: async () => {
        try {
          inner ??= open((await this.#started()).run)
        } catch (error) {
          if (throws && !this.#left) throw error
          return end
        }
        return inner.next()
      },
      // Does not wait for an event that is still to come, so that a run that is silent is aborted.
      return: async () => {
        this.#left = true
        await inner?.return?.()
        return end
      },
    }
  }

  #started(): Promise<{ readonly run: Run<Output> }> {
    this.#begun ??= this.#begin()
    return this.#begun
  }

  async #begin(): Promise<{ readonly run: Run<Output> }> {
    const start = this.#left ? undefined : await this.#prepare()
    if (start && !this.#left) return { run: start() }
    throw new KernelError('ABORTED', 'guardedRunner: the reader has left before the run began')
  }

  async #result(): Promise<RunResult<Output>> {
    const { run } = await this.#started()
    return run
  }
}
