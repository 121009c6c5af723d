import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { childrenOf } from '../children.ts'
import { type KeptIn, placeOf } from './kept-in.ts'

const program = fileURLToPath(new URL('asking-client.ts', import.meta.url))

/** What the process that answers has said. */
interface Answered {
  readonly questions: number
  readonly outcome: string
  readonly content: unknown
}

/** Lets one process ask, kills it with SIGKILL, and lets another one answer. */
export async function killAskingClient(generation: 'stateful' | 'both', kept: KeptIn): Promise<Answered> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  const args = [generation, join(folder, 'notes'), ...placeOf(kept, folder)]
  try {
    const asking = start(['ask', ...args])
    const outcome = await asking.line
    const servers = childrenOf(asking.child.pid ?? 0)
    asking.child.kill('SIGKILL')
    await asking.closed
    for (const pid of servers) await untilGone(pid)
    if (outcome !== 'interrupted') throw new Error(`the run that asks ended as ${outcome}`)
    const answering = start(['answer', ...args])
    const answered = JSON.parse(await answering.line) as Answered
    await answering.closed
    return answered
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Waits until a process has ended by itself, as its stdin has. */
async function untilGone(pid: number): Promise<void> {
  for (let i = 0; i < 100 && isAlive(pid); i++) await setTimeout(100)
  if (isAlive(pid)) throw new Error(`the server process ${pid} outlives the process that started it`)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function start(args: readonly string[]) {
  const child = spawn(process.execPath, ['--no-warnings', program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text))
  return { child, line, closed: once(child, 'exit') }
}
