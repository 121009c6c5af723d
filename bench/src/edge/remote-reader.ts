import { fork } from 'node:child_process'
import { once } from 'node:events'
import { nextMessage } from '../next-message.ts'
import type { ReadResult, ReadTask } from './http-reader.ts'

/** A reader in another process. */
export interface RemoteReader {
  /** Contract: one at a time; throws unless this number of deltas and an end have arrived. */
  read(task: ReadTask, deltas: number): Promise<void>
  close(): Promise<void>
}

export async function remoteReader(): Promise<RemoteReader> {
  const child = fork(new URL('./http-reader.ts', import.meta.url), { execArgv: ['--no-warnings'] })
  await nextMessage(child)
  return {
    async read(task, deltas) {
      child.send(task)
      const seen = await nextMessage<ReadResult>(child)
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
