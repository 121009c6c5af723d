import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type McpReport, type McpServer, mcpTools } from '@troupe/mcp'
import { mcpHttpServer } from '@troupe/mcp/server/node'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Call, runnerFor, SESSION } from '../agent.fixture.ts'
import { GENERATIONS, type Generation } from '../server/served.fixture.ts'
import { statefulOnly } from '../server/stateful-only.ts'
import { ownServer } from './own-server.ts'

// Each transport starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

type Opened = { readonly server: McpServer; close(): Promise<void>; sessions?(): number }

function overStdio(generation: Generation, notes: string): Opened {
  const program = fileURLToPath(new URL('own-stdio.ts', import.meta.url))
  const args = ['--no-warnings', program, generation, notes]
  return { server: { command: process.execPath, args, trusted: true }, close: async () => undefined }
}

async function overHttp(generation: Generation, lines: string[]): Promise<Opened> {
  const handler = ownServer((line) => lines.push(line))
  const { url, stop } = await mcpHttpServer(generation === 'stateful' ? statefulOnly(handler) : handler)
  return { server: { url, trusted: true }, close: () => stop(0), sessions: () => handler.open().sessions }
}

const CASES = GENERATIONS.flatMap((generation) =>
  (['stdio', 'HTTP'] as const).map((over) => [over, generation] as const),
)

describe.each(CASES)('our client and our server over %s, %s', (over, generation) => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  const file = join(folder, 'notes')
  const lines: string[] = []
  const notes = () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : lines)
  const reports: McpReport[] = []
  let opened: Opened
  let tools: ReturnType<typeof mcpTools>
  beforeAll(async () => {
    opened = over === 'stdio' ? overStdio(generation, file) : await overHttp(generation, lines)
    tools = mcpTools({ servers: { own: opened.server }, report: (report) => reports.push(report) })
  })
  afterAll(async () => {
    await tools[Symbol.asyncDispose]()
    await opened.close()
    rmSync(folder, { recursive: true })
    expect(reports).toEqual([])
  })
  const resultsOf = async (turns: readonly (readonly Call[])[]) => {
    const { messages } = await runnerFor(tools, turns).query('Go', { session: SESSION })
    return messages.filter((message) => message.role === 'tool')
  }

  it('structured content comes as data, and a failure as an error', async () => {
    const [sum, failure] = await resultsOf([[{ name: 'own_add', arguments: { a: 2, b: 3 } }, { name: 'own_fail' }]])
    expect(sum).toMatchObject({ content: '{"sum":5}', data: { sum: 5 } })
    expect(failure).toMatchObject({ content: 'out of paper', error: { code: 'MCP_CALL_FAILED' } })
    // Both speak the generation that is meant.
    if (opened.sessions) expect(opened.sessions()).toBe(generation === 'stateful' ? 1 : 0)
  })

  it.each([
    ['a tool', { name: 'own_book_table', arguments: { people: 4 } }, 'A table for 4 at 19:30.'],
    ['an agent', { name: 'own_host', arguments: { message: 'Book' } }, 'It said: "A table for 4 at 19:30."'],
  ])('a question of %s is a question of the run, and the answer reaches it', async (_, call, expected) => {
    const store = memoryStore()
    const { query, resume } = runnerFor(tools, [[call]], store)
    const { outcome, interrupts } = await query('Book', { session: SESSION })
    expect(outcome).toBe('interrupted')
    expect(interrupts).toMatchObject([{ reason: 'input', message: 'At what time, for 4?' }])
    const done = await resume({ [interrupts?.[0]?.id ?? '']: { answer: '19:30' } }, { session: SESSION })
    expect(JSON.stringify(done.messages.find(({ role }) => role === 'tool')?.content)).toContain(
      JSON.stringify(expected).slice(1, -1),
    )
  })

  it('progress is shown as it comes', async () => {
    const shown: unknown[] = []
    for await (const event of runnerFor(tools, [[{ name: 'own_count' }]]).run('Go', { session: SESSION })) {
      if (event.type === 'tool-delta') shown.push(event.delta)
    }
    expect(shown.join('')).toMatch(/^one\n+two\n+three\n+$/)
  })

  it('a run that is stopped stops the call at the server', async () => {
    const stop = new AbortController()
    const { query } = runnerFor(tools, [[{ name: 'own_wait' }]])
    const done = query('Go', { session: SESSION, signal: stop.signal }).catch((error: Error) => error)
    await expect.poll(notes, { timeout: 20_000 }).toEqual(['waits'])
    stop.abort()
    await done
    await expect.poll(notes, { timeout: 20_000 }).toEqual(['waits', 'stopped'])
  })
})
