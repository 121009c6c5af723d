/** Runs the long tests of MCP: `node main.ts [conformance] [kills] [restarts]`. */
import { type Revision, requiredOfClients, testClient } from './conformance/conformance.ts'
import { askKillAnswer } from './killed-while-asking.ts'
import { restartUnderLoad } from './restarts.ts'

const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28']
const KILLS = 50
const RESTARTS = 100

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
    if (passed < scenarios.length || scenarios.length === 0) failed++
  }
  return failed === 0
}

async function kills(): Promise<boolean> {
  let survived = 0
  for (let i = 0; i < KILLS; i++) {
    const { outcome, content } = await askKillAnswer(i % 2 === 0 ? 'both' : 'stateful')
    if (outcome === 'complete' && content === 'A table for 3, for Dr. Ann.') survived++
    else console.log(`kill ${i}: ${outcome}, ${JSON.stringify(content)}`)
  }
  console.log(`questions that survive kill -9 of the process that asked: ${survived} of ${KILLS}`)
  return survived === KILLS
}

async function restarts(): Promise<boolean> {
  const report = await restartUnderLoad(RESTARTS)
  console.log(`restarts under load: ${JSON.stringify(report)}`)
  const { replayed, processes, listeners, sockets } = report
  return replayed + processes + listeners + sockets === 0
}

const all = { conformance, kills, restarts }
const named = Object.entries(all).filter(([name]) => process.argv.includes(name))
let passed = true
for (const [, test] of named.length > 0 ? named : Object.entries(all)) passed = (await test()) && passed
process.exitCode = passed ? 0 : 1
