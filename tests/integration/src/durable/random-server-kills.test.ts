import { EventType } from '@ag-ui/core'
import type { AgUiEvent } from '@troupe/ag-ui'
import type { Store } from '@troupe/kernel'
import { reconcile } from '@troupe/persistence'
import { sqliteStore } from '@troupe/store-sqlite'
import { expect, test } from 'vitest'
import { joined } from './joined.fixture.ts'
import { ANN } from './killable.fixture.ts'
import { type Servers, servers } from './killed-servers.fixture.ts'
import { checkLog, logOf } from './served.fixture.ts'

/** `SEED=17 RUNS=150` kills elsewhere, and more often. */
const { RUNS = '4', SEED = '1' } = process.env

/** By question: how long its run takes if nobody kills it. */
const QUESTIONS = { hello: 700, look: 1_150, send: 1_150, helper: 2_200 }

/** A number from 0 to 1 for each case. */
function chance(number: number): number {
  const turned = Math.sin(number * 12.9898 + Number(SEED) * 78.233) * 43_758.5453
  return turned - Math.floor(turned)
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits until no process holds the thread and its run has an end that readers see, and its records had the time to be written. */
async function settled(store: Store): Promise<void> {
  const hasEnded = async () => (await logOf(store)).at(-1)?.type === EventType.RUN_FINISHED
  while ((await store.threads.get(ANN))?.runId !== undefined || !(await hasEnded())) await pause(20)
  await pause(300)
}

/** Asks, ends the server at some time, and lets the client follow the run to its end. */
async function killed(here: Servers, question: string, end: () => Promise<void>): Promise<readonly AgUiEvent[]> {
  const seen: AgUiEvent[] = []
  const client = here.client(seen)
  client.addMessage({ id: 'u1', role: 'user', content: question })
  const running = client.runAgent({ runId: 'R' })
  while (seen.length === 0) await pause(1)
  await end()
  await running
  return seen
}

/** Checks what is left of the run, before and after reconciling; gives the records that were open. */
async function check({ path }: Servers, seen: readonly AgUiEvent[]): Promise<readonly string[]> {
  await using store = sqliteStore({ path })
  await settled(store)
  const log = await logOf(store)
  checkLog(log)
  expect(joined(seen)).toEqual(joined(log))
  expect(seen.at(-1)?.type).toBe(EventType.RUN_FINISHED)
  const open = (await store.records.runs(ANN)).filter(({ status }) => status === 'generating')
  await reconcile({ store, before: Number.MAX_SAFE_INTEGER, threads: [ANN] })
  const runs = await store.records.runs(ANN)
  expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'complete'))
  expect(runs[0]).toMatchObject({ runId: 'R', text: 'That is all that I have found.' })
  const calls = (await Promise.all(runs.map(({ runId }) => store.records.toolCalls(ANN, runId)))).flat()
  expect(calls.filter(({ status }) => status === 'running')).toEqual([])
  expect(await store.records.usage(ANN)).toEqual(runs[0]?.usage)
  return open.map(({ runId }) => runId)
}

test.each(Array.from({ length: Number(RUNS) }, (_, i) => i))(
  'a server that is killed at a random moment leaves no record open: case %i',
  { timeout: 60_000 },
  async (number) => {
    const questions = Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[]
    const question = questions[number % questions.length] ?? 'hello'
    const here = await servers()
    const seen = await killed(here, question, async () => {
      await pause(chance(number) * QUESTIONS[question])
      await here.kill()
    })
    await check(here, seen)
  },
)

test.each(['hello', 'look', 'helper'])(
  'a server that is killed between the end of its run and the record of it: asked %s, the record is complete once it is reconciled',
  { timeout: 60_000 },
  async (question) => {
    const here = await servers('R')
    const seen = await killed(here, question, () => here.died())
    expect(await check(here, seen)).toEqual(['R'])
  },
)
