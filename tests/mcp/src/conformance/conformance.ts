/** Runs the official conformance suite, one scenario after the other. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A revision of the protocol that has required scenarios. */
export type Revision = '2025-11-25' | '2026-07-28'

/** What became of a scenario. */
export interface ScenarioResult {
  readonly scenario: string
  readonly passed: boolean
  /** What the suite printed. */
  readonly output: string
}

const suite = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
)
const client = fileURLToPath(new URL('client.ts', import.meta.url))

/** The scenarios that a revision requires of clients. */
export async function requiredOfClients(revision: Revision): Promise<readonly string[]> {
  const { output } = await run(['list', '--requirements', revision])
  const [, list = ''] = /Client scenarios[^\n]*\n((?: +- .*\n)+)/.exec(output) ?? []
  return list.split('\n').flatMap((line) => line.trim().slice(2) || [])
}

/** Runs a scenario for clients. */
export async function testClient(scenario: string, revision: Revision): Promise<ScenarioResult> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-conformance-'))
  const command = `${process.execPath} --no-warnings ${client}`
  const args = [
    'client',
    '--command',
    command,
    '--scenario',
    scenario,
    '--spec-version',
    revision,
    '--output-dir',
    folder,
  ]
  try {
    const { code, output } = await run(args)
    return { scenario, passed: code === 0 && output.includes('OVERALL: PASSED'), output }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [suite, ...args], { maxBuffer: 100_000_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? 1 : 0, output: `${stdout}${stderr}` })
    })
  })
}
