import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import * as restate from '@restatedev/restate-sdk'
import { restateWorker } from '@troupe/durable-restate'
import { runner } from '@troupe/flow'
import { openStore, type StorePlace } from './open-store.ts'
import { speedAgent } from './speed-agent.ts'

const store = await openStore(JSON.parse(process.argv[2] ?? '{}') as StorePlace)
const worker = restateWorker({ store, agents: { speed: (host) => runner({ agent: speedAgent, ...host }) } })
const port = await worker.serve(0, '127.0.0.1')

/** The same steps by hand: what a model and a tool give is recorded, and nothing else is done. */
const byHand = restate.object({
  name: 'byHand',
  handlers: {
    run: async (ctx: restate.ObjectContext, steps: number): Promise<string> => {
      let last = ''
      for (let step = 0; step < steps; step++) last = await ctx.run('step', async () => `step ${step} is done`)
      return last
    },
  },
})
const server = createServer(restate.createEndpointHandler({ services: [byHand], logger: () => undefined }))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
console.log(`ready ${port} ${(server.address() as AddressInfo).port}`)
