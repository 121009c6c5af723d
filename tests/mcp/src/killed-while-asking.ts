import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('servers/asking-process.ts', import.meta.url))

/** What the process that answers has said. */
export interface Answered {
  readonly questions: number
  readonly outcome: string
  readonly content: unknown
}

/** Lets one process ask, kills it with SIGKILL, and lets another one answer. */
export async function askKillAnswer(generation: 'stateful' | 'both'): Promise<Answered> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  const args = [join(folder, 'chat.db'), generation, join(folder, 'notes')]
  try {
    const asking = start(['ask', ...args])
    const outcome = await asking.line
    asking.child.kill('SIGKILL')
    await asking.closed
    if (outcome !== 'interrupted') throw new Error(`the run that asks ended as ${outcome}`)
    const answering = start(['answer', ...args])
    const answered = JSON.parse(await answering.line) as Answered
    await answering.closed
    return answered
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function start(args: readonly string[]) {
  const child = spawn(process.execPath, ['--no-warnings', program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text))
  return { child, line, closed: once(child, 'exit') }
}
