/** Runs the official conformance suite against a server on loopback. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runner } from '@troupe/flow'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpServer } from '@troupe/mcp/server'
import { type McpHttpServer, mcpHttpServer } from '@troupe/mcp/server/node'
import { echo } from '../served.fixture.ts'
import { sdkParts } from './sdk-parts.ts'
import { troupeTools } from './troupe-tools.ts'

/** A revision of the protocol that has required scenarios. */
export type Revision = '2025-11-25' | '2026-07-28'

/** What became of a scenario. */
export interface ScenarioResult {
  readonly passed: boolean
  /** What the suite printed. */
  readonly output: string
}

const SUITE = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
)

/** The server that the suite tests. */
export function conformanceServer(): Promise<McpHttpServer> {
  const store = memoryStore()
  const handler = mcpServer({
    runner: (agent) => runner({ agent, store }),
    agents: [echo()],
    tools: troupeTools,
    store,
    owner: { app: 'conformance', user: 'suite' },
    info: { name: 'troupe-conformance', version: '1.0.0' },
    extend: sdkParts,
  })
  return mcpHttpServer(handler)
}

/** The scenarios that a revision requires of servers. */
export async function requiredOfServers(revision: Revision): Promise<readonly string[]> {
  const { output } = await run(['list', '--requirements', revision])
  const [, list = ''] = /Server scenarios[^\n]*\n((?: +- .*\n)+)/.exec(output) ?? []
  return list.split('\n').flatMap((line) => line.trim().slice(2) || [])
}

/** Runs one scenario against a server. */
export async function testServer(url: string, scenario: string, revision: Revision): Promise<ScenarioResult> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-conformance-'))
  const about = ['--url', url, '--scenario', scenario, '--spec-version', revision, '--output-dir', folder]
  try {
    const { code, output } = await run(['server', ...about])
    return { passed: code === 0 && /Passed: (\d+)\/\1,/.test(output) && !/Passed: 0\//.test(output), output }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...args], { maxBuffer: 100_000_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? 1 : 0, output: `${stdout}${stderr}` })
    })
  })
}
