import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from '@troupe/store-sqlite'
import { nextMessage } from '../next-message.ts'
import type { Attack, AttackSize } from './attacks.ts'
import type { Memory } from './server.ts'

/** What an attack takes over an idle server, in megabytes. */
export interface AttackFigures {
  /** The heap and buffers after a collection, while clients are stalled or after they have read everything. */
  readonly heldMb: number
  /** The highest of these on the way. */
  readonly liveMb: number
  /** The highest RSS. */
  readonly rssMb: number
  /** How many answers began as expected. */
  readonly answered: number
}

/** How a server is run: it collects all the time, which shows what is in use, or it has a small heap, so that its RSS shows what it needs and not what Node has not collected yet. */
export type ServerMode = 'collecting' | 'small heap'

/** Megabytes of the small heap: about twice what an idle server has. */
const SMALL_HEAP = ['--max-old-space-size=48', '--max-semi-space-size=1']

/** Carries out an attack on a server in its own process, with a database of its own. */
export async function measureAttack(attack: Attack, size: AttackSize, mode: ServerMode): Promise<AttackFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-attack-'))
  try {
    const path = join(folder, 'attack.db')
    {
      await using store = sqliteStore({ path })
      await attack.seed(store, size)
    }
    return await attackServer(path, mode, attack, size)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function attackServer(
  path: string,
  mode: ServerMode,
  { paths, stalls }: Attack,
  size: AttackSize,
): Promise<AttackFigures> {
  const execArgv = ['--no-warnings', '--expose-gc', ...(mode === 'small heap' ? SMALL_HEAP : [])]
  const child = fork(new URL('./server.ts', import.meta.url), [path, mode], { execArgv })
  const sockets: Socket[] = []
  try {
    const port = await nextMessage<number>(child)
    const sample = (requests: number) => {
      const memory = nextMessage<Memory>(child)
      child.send(requests)
      return memory
    }
    // Loads and compiles code, which is not a cost of the attack.
    for (let i = 0; i < 3; i++) for (const warm of WARM_UP) await ask(port, warm, false, [])
    await sample(0)
    const idle = await sample(0)
    const asked = paths(size)
    const answers = asked.map((path) => ask(port, path, stalls, sockets))
    const after = await sample(asked.length)
    const answered = (await Promise.all(answers)).filter((status) => status === 'HTTP/1.1 200 OK').length
    const [heldMb, liveMb] = [after.held - idle.held, after.live - idle.held]
    return { heldMb, liveMb, rssMb: after.peak - idle.rss, answered }
  } finally {
    for (const socket of sockets) socket.destroy()
    child.disconnect()
    await once(child, 'exit')
  }
}

/** Requests for threads that do not exist, and an empty page. */
const WARM_UP = ['/threads?after=0', '/threads/none', '/threads/none/messages', '/threads/none/connect']

/** Asks for a path. Contract: gives the first line of the answer, when it has come and, unless the client stalls, all of it was read. */
async function ask(port: number, path: string, stalls: boolean, sockets: Socket[]): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
  const [first] = (await once(socket, 'data')) as [Buffer]
  if (stalls) socket.pause()
  else {
    socket.resume()
    await once(socket, 'close')
  }
  return first.toString().split('\r\n')[0]
}
