import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type McpCommand, type McpReport, mcpTools } from '@troupe/mcp'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runnerFor, SESSION } from './agent.fixture.ts'

// Each test starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  file = join(folder, 'calls')
})
afterEach(() => rmSync(folder, { recursive: true }))
const lines = (what: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line === what).length

function bad(fault: string, settings: Partial<McpCommand> = {}): McpCommand {
  const program = fileURLToPath(new URL('servers/bad.ts', import.meta.url))
  return { command: 'node', args: ['--no-warnings', program, fault, file], trusted: true, ...settings }
}

/** Runs an agent that calls the tool so often, one turn each. */
async function runWith(server: McpCommand, calls = 1) {
  const reports: McpReport[] = []
  await using tools = mcpTools({ servers: { it: server }, report: (report) => reports.push(report) })
  const { run, model } = runnerFor(
    tools,
    Array.from({ length: calls }, () => [{ name: 'it_go' }]),
  )
  const started = run('Go', { session: SESSION })
  let ends = 0
  for await (const event of started) if (event.type === 'agent-end') ends++
  const result = await started
  return {
    reports,
    ends,
    outcome: result.outcome,
    results: result.messages.filter((message) => message.role === 'tool'),
    names: model.requests[0]?.tools.map(({ name }) => name) ?? [],
    descriptions: model.requests[0]?.tools.map(({ description }) => description) ?? [],
  }
}

describe('a server that cannot be used is reported, and the run goes on without it', () => {
  it.each([
    ['silent', { connectTimeoutMs: 900 }],
    ['half-line', { connectTimeoutMs: 900 }],
    ['wrong-version', {}],
    ['many-tools', {}],
  ])('%s', async (fault, settings) => {
    const { outcome, reports, names, results, ends } = await runWith(bad(fault, settings))
    expect([outcome, ends]).toEqual(['complete', 1])
    expect(reports).toMatchObject([{ type: 'unavailable', server: 'it', error: { code: 'MCP_UNAVAILABLE' } }])
    expect(names).toEqual([])
    expect(results[0]?.error?.code).toBe('TOOL_UNKNOWN')
  })

  it('a program that does not exist', async () => {
    const { outcome, reports } = await runWith({ command: 'no-such-program-here' })
    expect(outcome).toBe('complete')
    expect(reports).toMatchObject([{ type: 'unavailable', error: { code: 'MCP_UNAVAILABLE' } }])
  })

  it('10,000 tools can be used where some are chosen', async () => {
    const { names, reports } = await runWith(bad('many-tools', { allow: ['go_7'], prefix: '' }))
    expect(names).toEqual(['go_7'])
    expect(reports).toEqual([])
  })
})

describe('a call that goes wrong is told to the model, and the run ends once', () => {
  it.each([
    ['never-answers', { timeoutMs: 300 }, 'OUTCOME_UNKNOWN'],
    ['closes', {}, 'OUTCOME_UNKNOWN'],
    ['half-answer', {}, 'OUTCOME_UNKNOWN'],
    ['huge', {}, 'OUTCOME_UNKNOWN'],
    ['odd-result', {}, 'MCP_CALL_FAILED'],
    ['rpc-error', {}, 'MCP_CALL_FAILED'],
  ])('%s', async (fault, settings, code) => {
    const { outcome, results, ends } = await runWith(bad(fault, settings))
    expect([outcome, ends]).toEqual(['complete', 1])
    expect(results).toMatchObject([{ error: { code } }])
    expect(lines('call')).toBe(1)
  })

  it('a line that is not JSON is ignored', async () => {
    const { results } = await runWith(bad('garbage'))
    expect(results).toMatchObject([{ content: 'fine' }])
  })

  it('a server that closes is started again for the next call, later and later', async () => {
    const { results, outcome } = await runWith(bad('closes'), 4)
    expect(outcome).toBe('complete')
    expect(results.map(({ error }) => error?.code)).toEqual([
      'OUTCOME_UNKNOWN',
      'OUTCOME_UNKNOWN',
      'MCP_UNAVAILABLE',
      'MCP_UNAVAILABLE',
    ])
    expect(lines('call')).toBe(2)
  })
})

describe('a tool that is not as it should be', () => {
  it('is left out if its schema cannot be used, and the others stay', async () => {
    const { names, reports } = await runWith(bad('bad-schema'))
    expect(names).toEqual(['it_go'])
    expect(reports).toMatchObject([{ type: 'tool-skipped', tool: 'odd' }])
  })

  it('has a name and a description of bounded length', async () => {
    const { names, descriptions } = await runWith(bad('long-text'))
    expect(names[0]).toMatch(/^it_go_x+_[0-9a-f]{8}$/)
    expect(names[0]).toHaveLength(64)
    expect(descriptions[0]).toHaveLength(4000)
  })

  it('that changes is listed again and reported', async () => {
    const reports: McpReport[] = []
    await using tools = mcpTools({ servers: { it: bad('changing') }, report: (report) => reports.push(report) })
    for (let i = 0; i < 3; i++) {
      const { query } = runnerFor(tools, [[{ name: 'it_go' }]])
      await query('Go', { session: { ...SESSION, threadId: `t${i}` } })
    }
    expect(reports.map(({ type }) => type)).toEqual(['tool-changed', 'tool-changed'])
    expect(reports[0]).toMatchObject({ server: 'it', tool: 'go' })
    expect(lines('list')).toBe(3)
  })
})

it('a server that comes back with another version is listed again', async () => {
  await using tools = mcpTools({ servers: { it: bad('new-version') } })
  // Each run ends the process; one of the next ones finds another version when it calls, and the one after that lists.
  for (let i = 0; i < 10 && (i === 0 || lines('list') < 2); i++) {
    const { query } = runnerFor(tools, [[{ name: 'it_go' }]])
    await query('Go', { session: { ...SESSION, threadId: `t${i}` } })
  }
  expect(lines('list')).toBe(2)
})

it('200 tools cost one listing, whatever the number of runs and owners', async () => {
  await using tools = mcpTools({ servers: { it: bad('two-hundred') } })
  for (let i = 0; i < 5; i++) {
    const { query, model } = runnerFor(tools, [[{ name: 'it_go_7' }]])
    const { messages } = await query('Go', { session: { ...SESSION, user: `user-${i}` } })
    expect(model.requests[0]?.tools).toHaveLength(200)
    expect(messages.find(({ role }) => role === 'tool')?.content).toBe('fine')
  }
  expect(lines('list')).toBe(1)
})
