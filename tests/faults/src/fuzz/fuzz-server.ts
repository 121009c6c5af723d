/** A process that serves what the fuzzer attacks: `node --expose-gc fuzz-server.ts <folder>`. It tells its parent the addresses, and its condition when it is asked. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { runner } from '@troupe/flow'
import type { KernelError } from '@troupe/kernel'
import { sqliteStore } from '@troupe/store-sqlite'
import { startAssistant } from '../../../../apps/assistant/src/assistant.ts'
import { readConfig } from '../../../../apps/assistant/src/config.ts'
import { createApp } from '../../../../apps/assistant/src/container.ts'
import { bookkeeper } from '../conversation/bookkeeper.ts'
import type { Condition, FuzzServerMessage } from './condition.ts'

const [, , folder = ''] = process.argv
const unhandled: string[] = []
const reported: string[] = []
process.on('unhandledRejection', (error) => void unhandled.push(String((error as Error)?.stack ?? error)))
process.on('disconnect', () => process.exit(0))

writeFileSync(join(folder, 'index.html'), '<p>page</p>')
const store = sqliteStore({ path: join(folder, 'ag-ui.db'), synchronous: 'normal' })
const report = (error: KernelError) => void reported.push(`${error.code} ${error.message} ${error.cause ?? ''}`)
const handler = agUiHandler({
  runner: runner({ agent: bookkeeper({ add: () => undefined }, 0), store, report }),
  store,
  appName: 'fuzz',
  // A name that a client can choose is a name that a client can break.
  authenticate: ({ headers }) => {
    const user = headers.get('authorization')
    return user ? { user } : undefined
  },
  report,
})
const server = await agUiServer(handler)
const env = { TROUPE_DB: join(folder, 'app.db'), TROUPE_FOLDER: folder, TROUPE_WORD_DELAY_MS: '0' }
const assistant = await startAssistant(await createApp(readConfig(env), folder))

process.on('message', () => {
  globalThis.gc?.()
  const { heapUsed } = process.memoryUsage()
  const polluted = Object.keys(Object.prototype)
  process.send?.({ unhandled, reported, polluted, heapMegabytes: heapUsed / 2 ** 20 } satisfies Condition)
})
process.send?.({ agUi: server.url, assistant: assistant.url } satisfies FuzzServerMessage)
