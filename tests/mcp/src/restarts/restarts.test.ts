import { expect, it, vi } from 'vitest'
import { restartHttpServer } from './restart-http-server.ts'
import { restartStdioServer } from './restart-stdio-server.ts'

// Each test starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const NOTHING = { processes: 0, sockets: 0, listeners: 0 }
const NEVER = { replayed: 0, deniedYetDone: 0, saidYetUndone: 0 }

it('restarts of a server over stdio leave nothing, and no call is made twice', async () => {
  const { calls, left } = await restartStdioServer(3)
  expect(calls).toMatchObject(NEVER)
  expect(left).toEqual(NOTHING)
})

it('restarts of a server over HTTP leave nothing on either side, and no call is made twice', async () => {
  const { calls, left } = await restartHttpServer(4)
  expect(calls).toMatchObject(NEVER)
  const onServer = { serverSessions: 0, serverCalls: 0, serverStreams: 0, serverSockets: 0, serverListeners: 0 }
  expect(left).toEqual({ ...NOTHING, ...onServer })
})
