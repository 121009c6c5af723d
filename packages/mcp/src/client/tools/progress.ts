import type { Progress } from '@modelcontextprotocol/client'

/** The lines of progress that came in while a call runs. */
export class ProgressLines {
  readonly #lines: string[] = []
  #wake: (() => void) | undefined

  push(progress: Progress): void {
    this.#lines.push(`${lineOf(progress)}\n`)
    this.#wake?.()
  }

  /** The lines until the work has settled. */
  async *until(work: Promise<unknown>): AsyncGenerator<string, void, undefined> {
    let settled = false
    const stop = () => {
      settled = true
      this.#wake?.()
    }
    work.then(stop, stop)
    while (true) {
      yield* this.#lines.splice(0)
      if (settled) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

function lineOf({ message, progress, total }: Progress): string {
  if (message !== undefined) return message
  return total === undefined ? `${progress}` : `${progress}/${total}`
}
