/** Runs the official conformance suite: all scenarios of a revision in one process. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The revisions of the protocol that have required scenarios, one of each generation. */
export const REVISIONS = ['2025-11-25', '2026-07-28'] as const
export type Revision = (typeof REVISIONS)[number]

/** Which side the suite tests. */
export type Side = 'client' | 'server'

/** What became of a required scenario. */
export interface ScenarioResult {
  readonly scenario: string
  readonly passed: boolean
  /** The checks of what a side should do but need not, and does not. */
  readonly warnings: readonly string[]
  /** What failed, and what a client said. */
  readonly output: string
}

/** How many scenarios each revision requires. */
export const REQUIRED: Readonly<Record<Side, Readonly<Record<Revision, number>>>> = {
  client: { '2025-11-25': 18, '2026-07-28': 32 },
  server: { '2025-11-25': 30, '2026-07-28': 37 },
}

/** What a client prints when it is done. */
export const ENDED = 'The scenario has ended.'

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED'
}

const SUITE = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
)
/** How long a scenario may take, as all those for clients begin at once. */
const SCENARIO_MS = 60_000
/** A scenario that is run and not required, in the last lines that the suite prints. */
const NOT_SCORED = /^ {2}[✓✗] (\S+) \(.*\)$/gm

/** Contract: throws unless as many scenarios ran as the revision requires. */
export async function runSuite(
  side: Side,
  revision: Revision,
  about: readonly string[],
): Promise<readonly ScenarioResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-conformance-'))
  const options = ['--requirements', revision, '--output-dir', folder, '--timeout', String(SCENARIO_MS)]
  try {
    const output = await run([side, ...about, ...options])
    const notScored = new Set(Array.from(output.matchAll(NOT_SCORED), ([, name]) => name))
    const results = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(({ name }) => name === 'checks.json')
      .map(({ parentPath }) => resultIn(parentPath, nameOf(parentPath.slice(folder.length + 1), side), side))
      .filter(({ scenario }) => !notScored.has(scenario))
    if (results.length === REQUIRED[side][revision]) return results
    throw new Error(`${results.length} of ${REQUIRED[side][revision]} scenarios ran:\n${output}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The scenario whose results are in a folder, whose name ends with the time. */
function nameOf(folder: string, side: Side): string {
  const name = folder.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '')
  return side === 'server' ? name.replace(/^server-/, '') : name
}

function resultIn(folder: string, scenario: string, side: Side): ScenarioResult {
  const checks = JSON.parse(readFileSync(join(folder, 'checks.json'), 'utf8')) as readonly Check[]
  const failures = checks.filter(({ status }) => status === 'FAILURE')
  const files = ['stdout.txt', 'stderr.txt'].map((name) => join(folder, name)).filter((file) => existsSync(file))
  const said = files.map((file) => readFileSync(file, 'utf8')).join('\n')
  // A client that broke off or was stopped for its time has not said so.
  const ended = side === 'server' || said.includes(ENDED)
  return {
    scenario,
    passed: ended && failures.length === 0 && checks.some(({ status }) => status === 'SUCCESS'),
    warnings: checks.filter(({ status }) => status === 'WARNING').map(({ id }) => id),
    output: `${JSON.stringify(failures, undefined, 1)}\n${said}`,
  }
}

/** Contract: gives what the suite printed, whatever its exit code. */
function run(args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...args], { maxBuffer: 100_000_000 }, (_error, stdout, stderr) => {
      resolve(`${stdout}${stderr}`)
    })
  })
}
