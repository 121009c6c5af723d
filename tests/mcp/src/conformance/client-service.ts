import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ENDED } from './run-suite.ts'
import { runScenario, type Scenario } from './scenario-agent.ts'

/** The clients of all scenarios in this process: the suite starts a process for each, which only passes its scenario on. */
export interface ClientService extends AsyncDisposable {
  /** The command that the suite starts. */
  readonly command: string
}

const PROGRAM = fileURLToPath(new URL('pass-on.mjs', import.meta.url))

export async function clientService(): Promise<ClientService> {
  const server = createServer({ allowHalfOpen: true }, (socket) => void serve(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    command: `${process.execPath} ${PROGRAM} ${port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}

/** Answers a line that names a scenario with what its agent says. */
async function serve(socket: Socket): Promise<void> {
  // The suite may stop a process that takes too long.
  socket.on('error', () => undefined)
  const [line] = await once(createInterface({ input: socket }), 'line')
  const lines = await runScenario(JSON.parse(String(line)) as Scenario).then(
    (said) => [...said, ENDED],
    (error: unknown) => [String(error)],
  )
  socket.end(`${lines.join('\n')}\n`)
}
