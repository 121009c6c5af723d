import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Starts the agent of Troupe in its own process. */
export async function startTroupe() {
  const child = fork(join(import.meta.dirname, 'troupe-server.ts'), { execArgv: ['--no-warnings'] })
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the server of Troupe ended with ${code}`)
  })
  // Only an exit before the first message is an error.
  exited.catch(() => undefined)
  const [urls] = await Promise.race([once(child, 'message'), exited])
  return { urls, stop: () => child.kill() }
}
