import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { blocksOf, importsOf, link } from './guide.fixture.ts'

const tests = ['docs/testing.md', 'docs/recipes/test-an-agent.md'].flatMap((page) =>
  blocksOf(page).filter(({ kind, file }) => kind === 'ts' && file),
)
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-testing-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const { file = '', code } of tests) {
    writeFileSync(join(folder, file), code)
    for (const name of importsOf(code)) link(folder, name)
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Runs the tests of the guide as a reader does; returns the failures with their messages. */
async function run(
  ...only: string[]
): Promise<{ readonly files: number; readonly passed: number; readonly failures: readonly string[] }> {
  const args = [join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--maxWorkers=1', ...only]
  const env = { PATH: process.env.PATH, HOME: folder, CI: '1' }
  const report = ['--reporter=json', '--outputFile=report.json']
  const ended = promisify(execFile)(process.execPath, [...args, ...report], { cwd: folder, env })
  // The report lists failed tests, but it is missing if they could not run.
  await ended.catch((error: Error) => {
    if (!existsSync(join(folder, 'report.json'))) throw error
  })
  const { numPassedTests, testResults } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'))
  const results = testResults as { assertionResults: { fullName: string; status: string }[]; message: string }[]
  const failed = results.flatMap(({ assertionResults, message }) => [
    ...(message ? [message] : []),
    ...assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
  ])
  return { files: results.length, passed: numPassedTests, failures: failed }
}

it('the tests of the guide pass', async () => {
  const { files, passed, failures } = await run()
  expect(failures).toEqual([])
  expect(files).toBe(tests.length)
  expect(passed).toBeGreaterThan(15)
}, 60_000)

it('they fail when what they test does not work', async () => {
  const approval = tests.find(({ file }) => file === 'approval.test.ts')?.code ?? ''
  writeFileSync(join(folder, 'approval.test.ts'), approval.replace('euros > 100', 'euros > 1_000'))
  expect((await run('approval')).failures).toEqual([
    'a large amount is paid only if a person agrees: true',
    'a large amount is paid only if a person agrees: false',
  ])
}, 60_000)
