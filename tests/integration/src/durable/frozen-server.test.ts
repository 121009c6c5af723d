import { sqliteStore } from '@troupe/store-sqlite'
import { describe, expect, test } from 'vitest'
import { joined } from './joined.fixture.ts'
import { ANN } from './killable.fixture.ts'
import { type Servers, servers } from './killed-servers.fixture.ts'
import { checkLog, logOf } from './served.fixture.ts'

const ANSWER = 'That is all that I have found.'
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Everything that is stored of the run. */
async function stored({ path }: Servers) {
  await using store = sqliteStore({ path })
  const runs = await store.records.runs(ANN)
  const all = <T>(read: (runId: string) => Promise<readonly T[]>) =>
    Promise.all(runs.map(({ runId }) => read(runId))).then((rows) => rows.flat())
  return {
    log: joined(await logOf(store)),
    runs,
    calls: await all((runId) => store.records.toolCalls(ANN, runId)),
    models: await all((runId) => store.records.modelCalls(ANN, runId)),
    messages: await store.threads.messages(ANN),
    thread: await store.threads.get(ANN),
  }
}

/** Waits until the records of the run are closed. */
async function closed(here: Servers) {
  for (;;) {
    const found = await stored(here)
    if (found.runs.every(({ status }) => status !== 'generating') && found.thread?.runId === undefined) return found
    await pause(20)
  }
}

/** Freezes the server of a run at a moment, past its lease, and lets a page follow the run to another one. */
async function frozenAt(question: string, line: string) {
  const here = await servers()
  const first = here.client()
  first.addMessage({ id: 'u1', role: 'user', content: question })
  first.runAgent({ runId: 'R' }).catch(() => undefined)
  while (!here.noted().includes(line)) await pause(2)
  const thaw = await here.freeze()
  const before = here.noted().length
  const following = here.client().connectAgent()
  /** Waits until the other server goes on with the run. */
  const goesOn = async () => {
    while (here.noted().length === before) await pause(2)
  }
  return { here, thaw, following, goesOn }
}

/** By moment: what is asked, and what is noted then. */
const MOMENTS = {
  'in its first answer': ['look', 'model model:0'],
  'in a tool': ['look', 'tool look'],
  'in its last answer': ['look', 'model model:1'],
  'before its last commit': ['look slowly', 'end'],
  'in an agent inside a tool': ['helper', 'tool look'],
} as const

describe.each(Object.entries(MOMENTS))('a server that is frozen %s', { timeout: 30_000 }, (_, [question, line]) => {
  test('past its lease changes nothing when it thaws after the run has ended elsewhere', async () => {
    const { here, thaw, following } = await frozenAt(question, line)
    await following
    const before = await closed(here)
    expect(before.runs.map(({ status }) => status)).toEqual(before.runs.map(() => 'complete'))
    await thaw()
    expect(await stored(here)).toEqual(before)
  })

  test('past its lease changes nothing when it thaws while the run goes on elsewhere', async () => {
    const { here, thaw, following, goesOn } = await frozenAt(question, line)
    await goesOn()
    await thaw()
    await following
    const { runs, calls, models, log, thread, messages } = await closed(here)
    checkLog(log)
    expect(thread?.unfinished).toBeUndefined()
    expect(runs[0]).toMatchObject({ runId: 'R', status: 'complete', text: ANSWER })
    expect(runs.map(({ status, error }) => [status, error])).toEqual(runs.map(() => ['complete', undefined]))
    expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 'complete'))
    const said = messages.filter(({ message }) => message.role === 'assistant').map(({ message }) => message.id)
    expect(models.filter(({ runId }) => runId === 'R').map(({ messageId }) => messageId)).toEqual(said)
  })
})
