/** Runs the long tests of MCP: `node main.ts [conformance]`. */
import { type Revision, requiredOfClients, testClient } from './conformance/conformance.ts'

const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28']

async function conformance(): Promise<boolean> {
  let failed = 0
  for (const revision of REVISIONS) {
    const scenarios = await requiredOfClients(revision)
    let passed = 0
    for (const scenario of scenarios) {
      const result = await testClient(scenario, revision)
      if (result.passed) passed++
      else console.log(`${revision} ${scenario} failed:\n${result.output}`)
    }
    console.log(`conformance of clients, ${revision}: ${passed} of ${scenarios.length} required scenarios`)
    failed += scenarios.length - passed
    if (scenarios.length === 0) failed++
  }
  return failed === 0
}

process.exitCode = (await conformance()) ? 0 : 1
