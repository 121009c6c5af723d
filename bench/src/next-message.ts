import type { ChildProcess } from 'node:child_process'

/** The next message of a child. Contract: rejects if it ends instead. */
export function heardFrom<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const hear = (message: unknown) => {
      child.off('exit', end)
      resolve(message as T)
    }
    const end = (code: number | null) => {
      child.off('message', hear)
      reject(new Error(`bench: a child process ended with ${code}`))
    }
    child.once('message', hear)
    child.once('exit', end)
  })
}
