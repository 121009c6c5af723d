import { type Clock, KernelError, type ThreadRef } from '@troupe/kernel'
import { abortScope } from '@troupe/kernel/kit'

/** A running request with its abort signal and time limits. */
export class ExecutionState implements Disposable {
  readonly ref: ThreadRef
  readonly runId: string
  readonly startedAt: number
  readonly signal: AbortSignal
  readonly #clock: Clock
  readonly #scope: ReturnType<typeof abortScope>
  readonly #timers: Map<string, () => void> = new Map()

  constructor(ref: ThreadRef, runId: string, clock: Clock, signal: AbortSignal | undefined) {
    this.ref = ref
    this.runId = runId
    this.startedAt = clock.now()
    this.#clock = clock
    this.#scope = abortScope(signal ?? new AbortController().signal)
    this.signal = this.#scope.signal
  }

  isStale(timeoutMs: number): boolean {
    return this.#clock.now() - this.startedAt >= timeoutMs
  }

  /** Stops the run. Contract: the first reason counts; `ABORTED` makes it cancelled, another code makes it fail. */
  stop(reason: KernelError): void {
    this.#scope.abort(reason)
  }

  /** Stops the run after `ms`, unless `unlimit` or another `limit` of the same name comes first. */
  limit(name: string, ms: number, reason: () => KernelError): void {
    this.unlimit(name)
    this.#timers.set(
      name,
      this.#clock.after(ms, () => this.stop(reason())),
    )
  }

  unlimit(name: string): void {
    this.#timers.get(name)?.()
    this.#timers.delete(name)
  }

  /** Waits for work until the run stops. Contract: rejects with the reason of the stop; leaves no listener behind. */
  within<T>(work: Promise<T>): Promise<T> {
    const { signal } = this
    return new Promise<T>((resolve, reject) => {
      const stop = () => reject(signal.reason)
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop)
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
    })
  }

  [Symbol.dispose](): void {
    for (const name of [...this.#timers.keys()]) this.unlimit(name)
    this.#scope[Symbol.dispose]()
  }
}

/** The running requests, up to a limit. */
export class Executions {
  readonly #max: number
  readonly #timeoutMs: number
  readonly #running: Set<ExecutionState> = new Set()

  constructor(max: number, timeoutMs: number) {
    this.#max = max
    this.#timeoutMs = timeoutMs
  }

  get size(): number {
    return this.#running.size
  }

  /** Contract: when the limit is reached, runs that exceeded their time are stopped and removed; `EXECUTION_LIMIT` if there are none. */
  enter(execution: ExecutionState): void {
    if (this.#running.size >= this.#max) {
      for (const other of this.#running) if (other.isStale(this.#timeoutMs)) this.#release(other)
    }
    if (this.#running.size >= this.#max) {
      throw new KernelError('EXECUTION_LIMIT', `run: the limit of ${this.#max} concurrent runs is reached`, {
        retryable: true,
      })
    }
    this.#running.add(execution)
  }

  leave(execution: ExecutionState): void {
    this.#running.delete(execution)
  }

  /** The run of a thread in this process. */
  find(ref: ThreadRef, runId?: string): ExecutionState | undefined {
    for (const execution of this.#running) {
      const { app, user, threadId } = execution.ref
      if (app !== ref.app || user !== ref.user || threadId !== ref.threadId) continue
      if (runId === undefined || runId === execution.runId) return execution
    }
    return undefined
  }

  #release(execution: ExecutionState): void {
    execution.stop(executionTimeout(this.#timeoutMs))
    this.leave(execution)
  }
}

/** The error of a run that took too long. */
export function executionTimeout(ms: number): KernelError {
  return new KernelError('EXECUTION_TIMEOUT', `run: exceeded its time limit of ${ms} ms`)
}

/** The error of a run whose tool took too long. */
export function toolTimeout(name: string, ms: number): KernelError {
  return new KernelError('TOOL_TIMEOUT', `tool ${name}: exceeded its time limit of ${ms} ms`)
}
