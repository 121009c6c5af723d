import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
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
  const noted = () => linesOf(file, 'noted')
  let [crashes, calls, unknown, successes] = [0, 0, 0, 0]
  try {
    const handler = mcpTools({ servers: { desk: deskCommand('stateful', file) } })
    while (crashes < restarts) {
      const names = ['desk_note_once', 'desk_note_once', 'desk_crash', 'desk_note_once']
      const first = { toolCalls: [{ name: 'desk_note_once' }] }
      const turns = [first, { toolCalls: names.map((name) => ({ name })) }, 'Done.']
      const agent = chatModelAgent({ name: 'guide', model: scriptedModel(turns as never), handlers: [handler] })
      const { messages } = await startRun(agent, 'Go')
      const results = messages.filter((message) => message.role === 'tool' && message.name === 'desk_note_once')
      const codes = results.map((message) => (message.role === 'tool' ? (message.error?.code ?? '') : ''))
      calls += codes.length
      unknown += codes.filter((code) => code === 'OUTCOME_UNKNOWN').length
      successes += codes.filter((code) => code === '').length
      crashes = linesOf(file, 'crash')
    }
    await handler[Symbol.asyncDispose]()
    // Handles that were closed go with the next turns of the event loop.
    for (let i = 0; i < 100 && socketsOf() > sockets; i++) await setImmediate()
    return {
      restarts: crashes,
      calls,
      // A call was carried out at most once if no more lines were written than calls ended well or are unknown.
      replayed: Math.max(0, noted() - successes - unknown),
      unknown,
      processes: childrenOf(process.pid).length - processes,
      listeners: listenersOf() - listeners,
      sockets: Math.max(0, socketsOf() - sockets),
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function linesOf(file: string, what: string): number {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line === what).length
  } catch {
    return 0
  }
}

function listenersOf(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
}

function socketsOf(): number {
  return process.getActiveResourcesInfo().filter((name) => /Pipe|TCP|Process/.test(name)).length
}
