import type { ThreadState } from './thread.ts'

type Change = ThreadState | ((state: ThreadState) => ThreadState)

/** Changes of the shared state by this page that the server does not have yet. */
export class SharedState {
  #changes: readonly Change[] = []
  #seen: unknown
  #shown: ThreadState | undefined

  get isChanged(): boolean {
    return this.#changes.length > 0
  }

  /** The state of the server with the changes of this page. Contract: the same object again while neither has changed. */
  on(state: unknown): ThreadState {
    if (this.#shown === undefined || this.#seen !== state) {
      this.#seen = state
      this.#shown = this.#changes.reduce(apply, (state ?? {}) as ThreadState)
    }
    return this.#shown
  }

  add(change: Change): void {
    this.#changes = [...this.#changes, change]
    this.#shown = undefined
  }

  clear(): void {
    this.#changes = []
    this.#shown = undefined
  }
}

function apply(state: ThreadState, change: Change): ThreadState {
  return { ...state, ...(typeof change === 'function' ? change(state) : change) }
}
