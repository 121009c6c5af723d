import { fork } from 'node:child_process'
import { nextMessage } from '../next-message.ts'
import type { Sample } from './server.ts'

/** The server of the soak test in another process. */
export interface ServerProcess {
  readonly url: string
  sample(): Promise<Sample>
  /** Stops the server. Contract: returns the last sample, taken when everything is closed. */
  stop(): Promise<Sample>
}

export async function serverProcess(): Promise<ServerProcess> {
  const child = fork(new URL('./server.ts', import.meta.url), { execArgv: ['--no-warnings', '--expose-gc'] })
  const ask = (command: string) => {
    child.send(command)
    return nextMessage<Sample>(child)
  }
  return { url: await nextMessage<string>(child), sample: () => ask('sample'), stop: () => ask('stop') }
}
