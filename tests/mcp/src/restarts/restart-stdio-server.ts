import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mcpTools } from '@troupe/mcp'
import { deskCommand } from '../agent.fixture.ts'
import { linesOf, OnceCallLog, type OnceCalls } from './once-calls.ts'
import { leftOver, type OpenHandles, openHandles } from './open-handles.ts'

/** Lets a server over stdio crash so often while others call it, and counts what is left. */
export async function restartStdioServer(
  restarts: number,
): Promise<{ readonly calls: OnceCalls; readonly left: OpenHandles }> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  const file = join(folder, 'notes')
  const before = openHandles()
  try {
    const tools = mcpTools({ servers: { desk: deskCommand('stateful', file) } })
    const log = new OnceCallLog(file)
    while (linesOf(file, 'crash').length < restarts) await log.run(tools, 'desk_note_once', ['desk_crash'])
    await tools[Symbol.asyncDispose]()
    return { calls: log.count(), left: await leftOver(before) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
