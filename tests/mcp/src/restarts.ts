import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { chatModelAgent } from '@troupe/chat-model'
import { startRun } from '@troupe/kernel/run'
import { mcpTools } from '@troupe/mcp'
import { scriptedModel } from '@troupe/testkit'
import { deskCommand } from './agent.fixture.ts'
import { childrenOf } from './children.ts'

/** What restarts have left behind. */
export interface RestartReport {
  readonly restarts: number
  /** The calls of `note_once` that the model made. */
  readonly calls: number
  /** The calls that the server carried out more than once. */
  readonly replayed: number
  readonly unknown: number
  readonly processes: number
  readonly listeners: number
  readonly sockets: number
}

/** Lets a server crash so often while others call it, and counts what is left. */
export async function restartUnderLoad(restarts: number): Promise<RestartReport> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  const file = join(folder, 'notes')
  const processes = childrenOf(process.pid).length
  const [listeners, sockets] = [listenersOf(), socketsOf()]
  const linesOf = (what: string) => linesIn(file).filter((line) => line.startsWith(what))
  let [crashes, calls, unknown] = [0, 0, 0]
  try {
    const handler = mcpTools({ servers: { desk: deskCommand('stateful', file) } })
    while (crashes < restarts) {
      const note = () => ({ name: 'desk_note_once', arguments: { id: `${calls++}` } })
      const turns = [{ toolCalls: [note()] }, { toolCalls: [note(), note(), { name: 'desk_crash' }, note()] }, 'Done.']
      const agent = chatModelAgent({ name: 'guide', model: scriptedModel(turns), handlers: [handler] })
      const { messages } = await startRun(agent, 'Go')
      unknown += messages.filter(
        (message) => message.role === 'tool' && message.error?.code === 'OUTCOME_UNKNOWN',
      ).length
      crashes = linesOf('crash').length
    }
    await handler[Symbol.asyncDispose]()
    // Handles that were closed go with the next turns of the event loop.
    for (let i = 0; i < 100 && socketsOf() > sockets; i++) await setImmediate()
    return {
      restarts: crashes,
      calls,
      replayed: linesOf('noted').length - new Set(linesOf('noted')).size,
      unknown,
      processes: childrenOf(process.pid).length - processes,
      listeners: listenersOf() - listeners,
      sockets: Math.max(0, socketsOf() - sockets),
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function linesIn(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
}

function listenersOf(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
}

function socketsOf(): number {
  return process.getActiveResourcesInfo().filter((name) => /Pipe|TCP|Process/.test(name)).length
}
