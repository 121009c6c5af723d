import { agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { restateRunner } from '@troupe/durable-restate'
import { agentsOf } from './agents.ts'
import { Effects } from './effects.ts'
import { openStore } from './open-store.ts'
import type { ServerTask } from './worker-process.ts'

const { store: place, effects, ingress, port } = JSON.parse(process.argv[2] ?? '{}') as ServerTask
const store = await openStore(place)
const agent = agentsOf(new Effects(effects)).assistant
if (!agent) throw new Error('no agent')
const handler = agUiHandler({
  runner: restateRunner({ agent, ingress, store }),
  store,
  appName: 'test',
  authenticate: () => ({ user: 'ann' }),
  limits: { lookMs: 300 },
})
const server = await agUiServer(handler, { host: '127.0.0.1', port })
console.log(`ready ${server.url}`)
process.once('SIGTERM', async () => {
  await server.stop(10_000)
  await store[Symbol.asyncDispose]()
  process.exit(0)
})
