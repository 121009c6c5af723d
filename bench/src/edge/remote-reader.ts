import { fork } from 'node:child_process'
import { once } from 'node:events'
import { heardFrom } from '../next-message.ts'
import type { Errand, Read } from './http-reader.ts'

/** A reader in another process. */
export interface RemoteReader {
  /** Contract: one at a time; throws unless so many deltas and an end have arrived. */
  read(errand: Errand, deltas: number): Promise<void>
  close(): Promise<void>
}

export async function remoteReader(): Promise<RemoteReader> {
  const child = fork(new URL('./http-reader.ts', import.meta.url), { execArgv: ['--no-warnings'] })
  await heardFrom(child)
  return {
    async read(errand, deltas) {
      child.send(errand)
      const seen = await heardFrom<Read>(child)
      if (seen.deltas !== deltas || !seen.finished) {
        throw new Error(`bench: expected ${deltas} deltas and an end, got ${JSON.stringify(seen)}`)
      }
    },
    async close() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}
