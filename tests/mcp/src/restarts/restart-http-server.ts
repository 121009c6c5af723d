import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mcpTools } from '@troupe/mcp'
import { GENERATIONS, type Generation } from '../server/served.fixture.ts'
import { OnceCallLog, type OnceCalls } from './once-calls.ts'
import { leftOver, type OpenHandles, openHandles } from './open-handles.ts'

const PROGRAM = fileURLToPath(new URL('restarting-server.ts', import.meta.url))
/** How many agents call at a time. */
const AGENTS = 3

type ServerOpen = { readonly sessions: number; readonly calls: number; readonly streams: number }

/** What is left in this process, and on the server's side. */
interface Left extends OpenHandles {
  readonly serverSessions: number
  readonly serverCalls: number
  readonly serverStreams: number
  readonly serverSockets: number
  readonly serverListeners: number
}

/** Restarts our server over HTTP so often while agents call it, half of the times in each generation, and counts what is left on both sides. */
export async function restartHttpServer(restarts: number): Promise<{ readonly calls: OnceCalls; readonly left: Left }> {
  const halves = []
  for (const generation of GENERATIONS) halves.push(await restartOne(generation, Math.ceil(restarts / 2)))
  const [first, second] = halves as [Half, Half]
  return { calls: sum(first.calls, second.calls), left: sum(first.left, second.left) }
}

type Half = { readonly calls: OnceCalls; readonly left: Left }

async function restartOne(generation: Generation, restarts: number): Promise<Half> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  const file = join(folder, 'notes')
  const before = openHandles()
  const server = fork(PROGRAM, [generation, file], { execArgv: ['--no-warnings'] })
  const says = async () => (await once(server, 'message'))[0] as unknown
  const left = { sessions: 0, calls: 0, streams: 0 }
  try {
    const url = String(await says())
    const log = new OnceCallLog(file)
    {
      await using tools = mcpTools({ servers: { it: { url, trusted: true, prefix: '' } } })
      // The tools are known before the first restart.
      await log.run(tools, 'note_once')
      let done = false
      const agents = Array.from({ length: AGENTS }, async () => {
        while (!done) await log.run(tools, 'note_once')
      })
      for (let i = 0; i < restarts; i++) {
        await log.nextDone()
        const said = says()
        server.send('restart')
        const { sessions, calls, streams } = (await said) as ServerOpen
        left.sessions += sessions
        left.calls += calls
        left.streams += streams
      }
      done = true
      await Promise.all(agents)
    }
    const said = says()
    server.send('leave')
    const open = (await said) as ServerOpen & OpenHandles
    const exited = once(server, 'exit')
    server.disconnect()
    await exited
    return {
      calls: log.count(),
      left: {
        ...(await leftOver(before)),
        serverSessions: left.sessions + open.sessions,
        serverCalls: left.calls + open.calls,
        serverStreams: left.streams + open.streams,
        serverSockets: open.sockets,
        serverListeners: open.listeners,
      },
    }
  } finally {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  }
}

/** Adds number by number. */
function sum<T extends object>(first: T, second: T): T {
  const entries = Object.entries(first).map(([name, value]) => [name, value + second[name as keyof T]])
  return Object.fromEntries(entries) as T
}
