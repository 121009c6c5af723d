import { type McpReport, type McpServer, mcpTools } from '@troupe/mcp'
import { describe, expect, it, vi } from 'vitest'
import { deskCommand, runnerFor, SESSION } from './agent.fixture.ts'
import { HttpFixture, statefulDesk, statelessDesk } from './servers/desk-http.ts'

// Each test starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

type Opened = { readonly server: McpServer; close(): Promise<void> }
const over: Record<string, () => Promise<Opened>> = {
  'stdio, stateful': async () => ({ server: deskCommand('stateful'), close: async () => undefined }),
  'stdio, 2026-07-28': async () => ({ server: deskCommand('both'), close: async () => undefined }),
  'HTTP, stateful': () => overHttp(statefulDesk().handle),
  'HTTP, 2026-07-28': () => overHttp(statelessDesk()),
}

async function overHttp(handle: (request: Request) => Promise<Response>): Promise<Opened> {
  const http = await HttpFixture.start(handle)
  return { server: { url: http.url, trusted: true }, close: () => http[Symbol.asyncDispose]() }
}

describe.each(Object.entries(over))('over %s', (_name, open) => {
  it('an agent has the tools of the server, and their results', async () => {
    const { server, close } = await open()
    const reports: McpReport[] = []
    {
      await using tools = mcpTools({ servers: { desk: server }, report: (report) => reports.push(report) })
      const { query, model } = runnerFor(tools, [
        [
          { name: 'desk_echo', arguments: { text: 'Hi' } },
          { name: 'desk_add', arguments: { a: 2, b: 3 } },
        ],
        [{ name: 'desk_fail' }, { name: 'desk_media' }],
      ])
      const { outcome, messages } = await query('Go', { session: SESSION })
      expect(outcome).toBe('complete')
      const results = messages.filter((message) => message.role === 'tool')
      expect(results[0]).toMatchObject({ content: 'Hi' })
      expect(results[1]).toMatchObject({ content: '5', data: { sum: 5 } })
      expect(results[2]).toMatchObject({ content: 'out of paper', error: { code: 'MCP_CALL_FAILED' } })
      expect(results[3]?.content).toMatchObject([
        { type: 'text', text: 'Look:' },
        { type: 'file', mediaType: 'image/png' },
        { type: 'file', mediaType: 'audio/wav' },
        { type: 'text', text: 'inside' },
        { type: 'file', mediaType: 'application/zip', name: 'desk://b' },
        { type: 'text', text: 'the rest: desk://c' },
      ])
      expect(model.requests[0]?.tools.map(({ name }) => name)).toContain('desk_note_once')
    }
    await close()
    expect(reports).toEqual([])
  })

  it('progress is shown as it comes', async () => {
    const { server, close } = await open()
    {
      await using tools = mcpTools({ servers: { desk: server } })
      const { run } = runnerFor(tools, [[{ name: 'desk_count', arguments: { to: 3 } }]])
      const shown: unknown[] = []
      for await (const event of run('Go', { session: SESSION })) {
        if (event.type === 'tool-delta') shown.push(event.delta)
      }
      // The SDK drops progress that it reads together with the result.
      expect(shown.length).toBeGreaterThan(0)
      expect(shown).toEqual(['at 1\n', 'at 2\n', 'at 3\n'].slice(0, shown.length))
    }
    await close()
  })
})
