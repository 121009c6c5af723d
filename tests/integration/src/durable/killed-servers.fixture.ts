import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgUiEvent } from '@troupe/ag-ui'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { sqliteStore } from '@troupe/store-sqlite'
import { onTestFinished } from 'vitest'
import { ANN } from './killable.fixture.ts'

/** Servers on one SQLite file, of which one after the other is killed. */
export interface Servers {
  readonly path: string
  /** A client that always reaches the server that is alive. */
  client(seen?: AgUiEvent[]): ResumableHttpAgent
  /** Kills the server that is alive, and starts another. */
  kill(): Promise<void>
  /** Waits until the server that is alive has killed itself, and starts another. */
  died(): Promise<void>
  /** Freezes the server that is alive, and starts another; gives the function that lets the frozen one go on and stop by itself. */
  freeze(): Promise<() => Promise<void>>
  /** What models and tools have noted. */
  noted(): readonly string[]
  /** Starts one more server, which the clients do not use. */
  start(): Promise<{ readonly next: ChildProcess; readonly address: string }>
}

/** Starts a server, and makes the ways to end it; the first one kills itself before it records the end of the run `unrecorded`. Contract: what is left ends with the test. */
export async function servers(unrecorded = ''): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-killed-'))
  const children: ChildProcess[] = []
  onTestFinished(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGCONT')
      child.disconnect()
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true })
  })
  const [path, notes] = [join(folder, 'chat.db'), join(folder, 'notes.txt')]
  let url = ''
  let child: ChildProcess | undefined
  const start = async (...more: readonly string[]) => {
    const program = new URL('./killed-server.ts', import.meta.url)
    const next = fork(program, [path, notes, ...more], { execArgv: ['--no-warnings'] })
    children.push(next)
    const [address] = (await once(next, 'message')) as [string]
    return { next, address }
  }
  const restart = async (...more: readonly string[]) => {
    const { next, address } = await start(...more)
    child = next
    url = address
  }
  await restart(unrecorded)
  const kill = async () => {
    const dying = child
    child = undefined
    dying?.kill('SIGKILL')
    await restart()
  }
  const freeze = async () => {
    const frozen = child as ChildProcess
    frozen.kill('SIGSTOP')
    // Frozen in the middle of a write, it would keep everybody else from writing.
    while (!(await isWritable(path))) {
      frozen.kill('SIGCONT')
      await new Promise((resolve) => setTimeout(resolve, 3))
      frozen.kill('SIGSTOP')
    }
    await restart()
    return async () => {
      frozen.kill('SIGCONT')
      frozen.send('stop')
      await once(frozen, 'message')
    }
  }
  const client = (seen: AgUiEvent[] = []) => {
    const agent = new ResumableHttpAgent({
      url: 'http://agent.test',
      threadId: ANN.threadId,
      fetch: (to, init) => fetch(String(to).replace('http://agent.test', url), init),
      reconnect: { attempts: 600, pauseMs: () => 50 },
    })
    agent.subscribe({ onEvent: ({ event }) => void seen.push(event as AgUiEvent) })
    return agent
  }
  const noted = () => (existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : [])
  const died = () => once(child as ChildProcess, 'exit').then(() => restart())
  return { path, client, kill, died, freeze, noted, start }
}

/** Whether no process is in the middle of a write. */
async function isWritable(path: string): Promise<boolean> {
  await using store = sqliteStore({ path, busyTimeoutMs: 100 })
  return store.threads.open({ ...ANN, threadId: 'other' }).then(
    () => true,
    () => false,
  )
}
