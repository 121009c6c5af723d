import { createInterface } from 'node:readline'

/** Where the user reads and types. */
export interface Terminal {
  print(text: string): void
  /** Asks for a line. Gives nothing when the user has left. */
  ask(question: string): Promise<string | undefined>
}

/** Opens the terminal of this process. Aborting the signal ends its input. */
export function openTerminal(signal: AbortSignal): Terminal & Disposable {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  const typed = lines[Symbol.asyncIterator]()
  const close = () => lines.close()
  // In a terminal readline gets Ctrl-C, and not the process.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  signal.addEventListener('abort', close, { once: true })
  return {
    print: (text) => void process.stdout.write(text),
    async ask(question) {
      if (signal.aborted) return undefined
      process.stdout.write(question)
      const { done, value } = await typed.next()
      return done ? undefined : value
    },
    [Symbol.dispose]() {
      signal.removeEventListener('abort', close)
      close()
    },
  }
}
