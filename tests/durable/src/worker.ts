import { restateWorker } from '@troupe/durable-restate'
import { runner } from '@troupe/flow'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { agentsOf } from './agents.ts'
import { Effects } from './effects.ts'
import { openStore } from './open-store.ts'
import type { WorkerTask } from './worker-process.ts'

const task = JSON.parse(process.argv[2] ?? '{}') as WorkerTask
const store = await openStore(task.store)
const messages = messageLifecycle({ store })
const callbacks = [messages, toolLifecycle({ messages })]
const agents = Object.entries(agentsOf(new Effects(task.effects)))
const worker = restateWorker({
  store,
  agents: Object.fromEntries(agents.map(([name, agent]) => [name, (host) => runner({ agent, callbacks, ...host })])),
  settled: (ref) => messages.flush(ref),
  ...task.options,
})
const port = await worker.serve(task.port, '127.0.0.1')
console.log(`ready ${port}`)
process.once('SIGTERM', async () => {
  await worker.stop()
  await messages[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
  process.exit(0)
})
