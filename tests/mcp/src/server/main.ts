/** Runs the long tests of the server: `node main.ts`. */
import { conformanceServer, type Revision, requiredOfServers, testServer } from './conformance/run-suite.ts'

const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28']

async function conformance(): Promise<boolean> {
  await using server = await conformanceServer()
  let failed = 0
  for (const revision of REVISIONS) {
    const scenarios = await requiredOfServers(revision)
    let passed = 0
    for (const scenario of scenarios) {
      const result = await testServer(server.url, scenario, revision)
      if (result.passed) passed++
      else console.log(`${revision} ${scenario} failed:\n${result.output}`)
    }
    console.log(`conformance of servers, ${revision}: ${passed} of ${scenarios.length} required scenarios`)
    failed += scenarios.length === 0 ? 1 : scenarios.length - passed
  }
  return failed === 0
}

process.exitCode = (await conformance()) ? 0 : 1
