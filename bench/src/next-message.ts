import type { ChildProcess } from 'node:child_process'

/** Waits for the next message of a child process. Contract: rejects if the child ends instead. */
export function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      child.off('exit', onExit)
      resolve(message as T)
    }
    const onExit = (code: number | null) => {
      child.off('message', onMessage)
      reject(new Error(`bench: a child process ended with ${code}`))
    }
    child.once('message', onMessage)
    child.once('exit', onExit)
  })
}
