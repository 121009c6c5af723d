/** Runs the long tests of MCP: `node main.ts [conformance] [kills] [restarts]`. */
import { startPostgres } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { clientService } from './conformance/client-service.ts'
import { conformanceServer } from './conformance/conformance-server.ts'
import { REVISIONS, runSuite, type Side } from './conformance/run-suite.ts'
import type { KeptIn } from './kills/kept-in.ts'
import { killAskingClient } from './kills/kill-asking-client.ts'
import { killAskingServer } from './kills/kill-asking-server.ts'
import { restartHttpServer } from './restarts/restart-http-server.ts'
import { restartStdioServer } from './restarts/restart-stdio-server.ts'

const KILLS = 50
const RESTARTS = 100

async function conformance(): Promise<boolean> {
  await using service = await clientService()
  await using server = await conformanceServer()
  const sides: readonly (readonly [Side, readonly string[]])[] = [
    ['client', ['--command', service.command]],
    ['server', ['--url', server.url]],
  ]
  let allPassed = true
  for (const [side, about] of sides) {
    for (const revision of REVISIONS) {
      const results = await runSuite(side, revision, about)
      const failed = results.filter(({ passed }) => !passed)
      for (const { scenario, output } of failed) console.log(`${revision} ${scenario} failed:\n${output}`)
      const passed = results.length - failed.length
      console.log(`conformance of a ${side}, ${revision}: ${passed} of ${results.length} required scenarios`)
      allPassed = allPassed && failed.length === 0
    }
  }
  return allPassed
}

/** Kills agents that are asked and servers that ask, of both generations, on both databases. */
async function kills(): Promise<boolean> {
  await using postgres = await startPostgres()
  const places: readonly (() => KeptIn)[] = [
    () => ({ kind: 'sqlite' }),
    () => ({ kind: 'postgres', url: postgres.url, schema: postgres.schema() }),
  ]
  const tests: Readonly<Record<string, (kept: KeptIn, i: number) => Promise<boolean>>> = {
    'the agent that is asked': isClientAnswered,
    'the server that asks': isServerAnswered,
  }
  let allAnswered = true
  for (const [who, isAnswered] of Object.entries(tests)) {
    for (const place of places) {
      let answered = 0
      for (let i = 0; i < KILLS; i++) if (await isAnswered(place(), i)) answered++
      console.log(
        `kill -9 of ${who} with a question open, ${place().kind}: ${answered} of ${KILLS} answered, each once`,
      )
      allAnswered = allAnswered && answered === KILLS
    }
  }
  return allAnswered
}

async function isClientAnswered(kept: KeptIn, i: number): Promise<boolean> {
  const result = await killAskingClient(i % 2 === 0 ? 'both' : 'stateful', kept)
  const { questions, outcome, content } = result
  const right = questions === 1 && outcome === 'complete' && content === 'A table for 3, for Dr. Ann.'
  if (!right) console.log(`${kept.kind}, kill ${i}: ${JSON.stringify(result)}`)
  return right
}

async function isServerAnswered(kept: KeptIn, i: number): Promise<boolean> {
  const generation = i % 2 === 0 ? 'stateful' : '2026-07-28'
  const result = await killAskingServer(generation, kept, i % 4 < 2 ? 'host' : 'book_table')
  const { text = '', isError, notes } = result
  const right = text.includes('A table for 4 at 19:30.') && !isError && notes.length === 1
  if (!right) console.log(`${kept.kind}, kill ${i}: ${JSON.stringify(result)}`)
  return right
}

async function restarts(): Promise<boolean> {
  let allClean = true
  for (const restart of [restartStdioServer, restartHttpServer]) {
    const { calls, left } = await restart(RESTARTS)
    console.log(`${restart.name}: ${RESTARTS} restarts, ${JSON.stringify({ ...calls, ...left })}`)
    const { replayed, deniedYetDone, saidYetUndone } = calls
    const wrong = [replayed, deniedYetDone, saidYetUndone, ...Object.values(left)]
    allClean = allClean && wrong.every((count) => count === 0)
  }
  return allClean
}

const all = { conformance, kills, restarts }
const named = Object.entries(all).filter(([name]) => process.argv.includes(name))
let passed = true
for (const [, test] of named.length > 0 ? named : Object.entries(all)) passed = (await test()) && passed
process.exitCode = passed ? 0 : 1
