import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Sample } from './server.ts'

/** A server in another process that tells how it is. */
export interface SoakedServer {
  readonly url: string
  sample(): Promise<Sample>
  /** Contract: the last sample, when everything is closed. */
  stop(): Promise<Sample>
}

export async function soakedServer(): Promise<SoakedServer> {
  const child = fork(new URL('./server.ts', import.meta.url), { execArgv: ['--no-warnings', '--expose-gc'] })
  const heard = async <T>(): Promise<T> => {
    const exit = once(child, 'exit').then(([code]) => Promise.reject(new Error(`bench: the server ended with ${code}`)))
    const [message] = await Promise.race([once(child, 'message'), exit])
    return message as T
  }
  const ask = (order: string) => {
    child.send(order)
    return heard<Sample>()
  }
  return { url: await heard<string>(), sample: () => ask('sample'), stop: () => ask('stop') }
}
