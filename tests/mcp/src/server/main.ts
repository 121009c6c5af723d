/** Runs the long tests of the server: `node main.ts [conformance|kills]`. */
import { startPostgres } from '../../../../packages/store-postgres/src/postgres.fixture.ts'
import { askKillAnswer, type KeptIn } from './ask-kill-answer.ts'
import { conformanceServer, type Revision, requiredOfServers, testServer } from './conformance/run-suite.ts'
import { GENERATIONS } from './served.fixture.ts'

const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28']
const KILLS = 50

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

/** Kills a server with a question open, for agents and tools and both generations in turn. */
async function kills(): Promise<boolean> {
  await using postgres = await startPostgres()
  const schema = postgres.schema()
  let failed = 0
  for (const kept of [{ kind: 'sqlite' }, { kind: 'postgres', url: postgres.url, schema }] as readonly KeptIn[]) {
    let answered = 0
    for (let i = 0; i < KILLS; i++) {
      const generation = GENERATIONS[i % 2] ?? 'stateful'
      const result = await askKillAnswer(generation, kept, i % 4 < 2 ? 'host' : 'book_table')
      const right = result.text?.includes('A table for 4 at 19:30.') && !result.isError && result.notes.length === 1
      if (right) answered++
      else console.log(`${kept.kind}, ${generation}, kill ${i}: ${JSON.stringify(result)}`)
    }
    console.log(`kill -9 with a question open, ${kept.kind}: ${answered} of ${KILLS} answered, each once`)
    failed += KILLS - answered
  }
  return failed === 0
}

const PARTS = { conformance, kills }
const [, , only] = process.argv
let passed = true
for (const [name, part] of Object.entries(PARTS)) {
  if (only === undefined || only === name) passed = (await part()) && passed
}
process.exitCode = passed ? 0 : 1
