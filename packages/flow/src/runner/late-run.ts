import type { AgentEvent, Run, RunResult } from '@troupe/kernel'

/** A run that has to be looked up before it can begin; its id is known from then on. */
export class LateRun<Output> implements Run<Output> {
  readonly #find: () => Promise<{ readonly run: Run<Output> }>
  #found: Promise<{ readonly run: Run<Output> }> | undefined
  runId: string

  /** Contract: `find` is called when the run is first read or awaited; it wraps the run, because a promise of a run would wait for its end. */
  constructor(find: () => Promise<{ readonly run: Run<Output> }>, runId = '') {
    this.#find = find
    this.runId = runId
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent, undefined> {
    yield* (await this.#begin()).run
  }

  async *eventsWithoutThrowing(): AsyncGenerator<AgentEvent, undefined> {
    const found = await this.#begin().catch(() => undefined)
    if (found) yield* found.run.eventsWithoutThrowing()
  }

  // biome-ignore lint/suspicious/noThenProperty: a run is awaited for its result
  then<A = RunResult<Output>, B = never>(
    onResult?: ((result: RunResult<Output>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#result().then(onResult, onError)
  }

  catch<A = never>(onError?: ((error: unknown) => A | PromiseLike<A>) | null): Promise<RunResult<Output> | A> {
    return this.#result().catch(onError)
  }

  finally(onSettled?: (() => void) | null): Promise<RunResult<Output>> {
    return this.#result().finally(onSettled)
  }

  async #result(): Promise<RunResult<Output>> {
    return (await this.#begin()).run
  }

  #begin(): Promise<{ readonly run: Run<Output> }> {
    this.#found ??= this.#find().then((found) => {
      this.runId = found.run.runId
      return found
    })
    return this.#found
  }
}
