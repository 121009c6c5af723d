import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Starts the agent of Troupe in a process of its own. */
export async function startTroupe() {
  const child = fork(join(import.meta.dirname, 'troupe-server.ts'), { execArgv: ['--no-warnings'] })
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`the server of Troupe ended with ${code}`)
  })
  // Only its beginning is waited for; that it ends later is as it should be.
  gone.catch(() => undefined)
  const [urls] = await Promise.race([once(child, 'message'), gone])
  return { urls, stop: () => child.kill() }
}
