import { once } from 'node:events'
import { createServer } from 'node:http'
import { HttpAgent } from '@ag-ui/client'
import { CopilotRuntime } from '@copilotkit/runtime/v2'
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node'

const PATH = '/api/copilotkit'

/** Starts CopilotKit's runtime for the agent of Troupe, once for each transport of its front ends. */
export async function startRuntime(urls) {
  const agents = {
    troupe: new HttpAgent({ url: urls.cancel, description: 'An agent of Troupe.' }),
    detached: new HttpAgent({ url: urls.detach }),
    nowhere: new HttpAgent({ url: `${urls.cancel}/nowhere` }),
  }
  const servers = []
  const listen = async (mode) => {
    const runtime = new CopilotRuntime({ agents })
    const server = createServer(createCopilotNodeListener({ runtime, basePath: PATH, mode }))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers.push(server)
    return `http://127.0.0.1:${server.address().port}${PATH}`
  }
  const stop = () => {
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
  }
  return { rest: await listen('multi-route'), single: await listen('single-route'), stop }
}
