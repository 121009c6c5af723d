import { EventType } from '@ag-ui/core'
import type { AgUiEvent } from '@troupe/ag-ui'
import type { Store } from '@troupe/kernel'
import { reconcile } from '@troupe/persistence'
import { sqliteStore } from '@troupe/store-sqlite'
import { expect, test } from 'vitest'
import { ANN } from './killable.fixture.ts'
import { servers } from './killed-servers.fixture.ts'
import { checkLog, logOf } from './served.fixture.ts'

/** `SEED=17 RUNS=150` kills elsewhere, and more often. */
const { RUNS = '4', SEED = '1' } = process.env

/** By question: how long its run takes if nobody kills it. */
const QUESTIONS = { hello: 500, look: 950, send: 950, helper: 1_800 }

/** A number from 0 to 1 for each case. */
function chance(number: number): number {
  const turned = Math.sin(number * 12.9898 + Number(SEED) * 78.233) * 43_758.5453
  return turned - Math.floor(turned)
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits until no process holds the thread, and its records had the time to be written. */
async function settled({ threads }: Store): Promise<void> {
  while ((await threads.get(ANN))?.runId !== undefined) await pause(20)
  await pause(300)
}

/** Asks, kills the server after some time, and lets the client follow the run to its end. */
async function killedAfter(question: string, ms: number) {
  const here = await servers()
  const seen: AgUiEvent[] = []
  const client = here.client(seen)
  client.addMessage({ id: 'u1', role: 'user', content: question })
  const running = client.runAgent({ runId: 'R' })
  while (seen.length === 0) await pause(1)
  await pause(ms)
  await here.kill()
  await running
  return { ...here, seen }
}

test.each(Array.from({ length: Number(RUNS) }, (_, i) => i))(
  'a server that is killed at a random moment leaves no record open: case %i',
  { timeout: 60_000 },
  async (number) => {
    const questions = Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[]
    const question = questions[number % questions.length] ?? 'hello'
    const ms = Math.floor(chance(number) * QUESTIONS[question])
    const { path, seen } = await killedAfter(question, ms)
    await using store = sqliteStore({ path })
    await settled(store)
    const log = await logOf(store)
    checkLog(log)
    expect(seen).toEqual(log)
    expect(seen.at(-1)?.type).toBe(EventType.RUN_FINISHED)
    const left = (await store.records.runs(ANN)).filter(({ status }) => status === 'generating')
    await reconcile({ store, before: Number.MAX_SAFE_INTEGER, threads: [ANN] })
    const runs = await store.records.runs(ANN)
    const calls = (await Promise.all(runs.map(({ runId }) => store.records.toolCalls(ANN, runId)))).flat()
    if (left.length > 0) console.log('LEFT', number, question, ms, JSON.stringify({ left, runs, calls }))
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'complete'))
    expect(runs[0]?.text).toBe('That is all that I have found.')
    expect(calls.map(({ status }) => status)).toEqual(
      calls.map(() => (question === 'send' ? expect.any(String) : 'complete')),
    )
  },
)
