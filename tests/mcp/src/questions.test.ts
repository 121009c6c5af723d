import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type McpServer, mcpTools } from '@troupe/mcp'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deskCommand, runnerFor, SESSION } from './agent.fixture.ts'
import { HttpFixture, statefulDesk, statelessDesk } from './servers/desk-http.ts'

// Each test starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  file = join(folder, 'notes')
})
afterEach(() => rmSync(folder, { recursive: true }))
const notes = () => readFileSync(file, 'utf8').trim().split('\n')

const over: Record<string, () => Promise<{ readonly server: McpServer; close(): Promise<void> }>> = {
  'stdio, stateful': async () => ({ server: deskCommand('stateful', file), close: async () => undefined }),
  'stdio, 2026-07-28': async () => ({ server: deskCommand('both', file), close: async () => undefined }),
  'HTTP, stateful': () => overHttp(statefulDesk(file).handle),
  'HTTP, 2026-07-28': () => overHttp(statelessDesk(file)),
}

async function overHttp(handle: (request: Request) => Promise<Response>) {
  const http = await HttpFixture.start(handle)
  return { server: { url: http.url, trusted: true }, close: () => http[Symbol.asyncDispose]() }
}

describe.each(Object.entries(over))('a question over %s', (name, open) => {
  it('is asked by the run, and the call is made again with the answer by another handler', async () => {
    const { server, close } = await open()
    const store = memoryStore()
    const turns = [[{ name: 'desk_book', arguments: { people: 4 } }]]
    {
      await using first = mcpTools({ servers: { desk: server } })
      const asked = await runnerFor(first, turns, store).query('Book', { session: SESSION })
      expect(asked.outcome).toBe('interrupted')
      expect(asked.interrupts).toMatchObject([
        { reason: 'input', message: 'Who comes, of 4?', metadata: { mcpServer: 'desk' } },
      ])
      expect(asked.interrupts?.[0]?.responseSchema).toMatchObject({ properties: { name: { type: 'string' } } })
      await using second = mcpTools({ servers: { desk: server } })
      const later = runnerFor(second, [], store)
      const done = await later.resume({ [asked.interrupts?.[0]?.id ?? '']: { name: 'Ann' } }, { session: SESSION })
      expect(done).toMatchObject({ outcome: 'complete', text: 'The end.' })
      expect(done.messages.find(({ role }) => role === 'tool')?.content).toBe('A table for 4, for Dr. Ann.')
    }
    await close()
    // A server of 2026-07-28 goes on where it asked; a stateful one asks again and is answered at once.
    const again = name.endsWith('2026-07-28') ? [] : ['asked']
    expect(notes()).toEqual(['asked', ...again, 'booked for Ann'])
  })

  it('is answered where the call waits for it, if that is the same process', async () => {
    const { server, close } = await open()
    {
      await using tools = mcpTools({ servers: { desk: server } })
      const { query, resume } = runnerFor(tools, [[{ name: 'desk_book', arguments: { people: 4 } }]])
      const { interrupts } = await query('Book', { session: SESSION })
      const done = await resume({ [interrupts?.[0]?.id ?? '']: { name: 'Ann' } }, { session: SESSION })
      expect(done.messages.find(({ role }) => role === 'tool')?.content).toBe('A table for 4, for Dr. Ann.')
    }
    await close()
    expect(notes()).toEqual(['asked', 'booked for Ann'])
  })

  it('that is closed is cancelled for the server', async () => {
    const { server, close } = await open()
    {
      await using tools = mcpTools({ servers: { desk: server } })
      const { query, resume } = runnerFor(tools, [[{ name: 'desk_book', arguments: { people: 4 } }]])
      const { interrupts = [] } = await query('Book', { session: SESSION })
      const done = await resume({}, { session: SESSION, closed: interrupts.map(({ id }) => id) })
      expect(done.outcome).toBe('complete')
      expect(done.messages.find(({ role }) => role === 'tool')?.content).toMatch(/Not booked|cancel|declin/i)
    }
    await close()
  })

  it('of two calls of a turn reach a person one by one or together, and each call gets its own answer', async () => {
    const { server, close } = await open()
    {
      await using tools = mcpTools({ servers: { desk: server } })
      const { query, resume } = runnerFor(tools, [
        [{ name: 'desk_echo', arguments: { text: 'warm' } }],
        [
          { name: 'desk_book', arguments: { people: 2 } },
          { name: 'desk_echo', arguments: { text: 'Hi' } },
        ],
      ])
      let result = await query('Book', { session: SESSION })
      for (let i = 0; i < 3 && result.outcome === 'interrupted'; i++) {
        const answers = (result.interrupts ?? []).map(({ id, message = '' }) => [id, { name: message }])
        result = await resume(Object.fromEntries(answers), { session: SESSION })
      }
      expect(result.outcome).toBe('complete')
      const contents = result.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
      expect(contents).toContain('A table for 2, for Dr. Who comes, of 2?.')
    }
    await close()
  })
})
