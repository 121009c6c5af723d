import { fork } from 'node:child_process'
import { heardFrom } from '../next-message.ts'
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
  const ask = (order: string) => {
    child.send(order)
    return heardFrom<Sample>(child)
  }
  return { url: await heardFrom<string>(child), sample: () => ask('sample'), stop: () => ask('stop') }
}
