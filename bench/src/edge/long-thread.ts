import { agUiHandler } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { Message, Store } from '@troupe/kernel'
import { expectText } from '../check-work.ts'
import { measureInTurn, mediansOf, type Work } from '../measure.ts'
import { wordModel } from '../word-model.ts'
import { benchStores } from './bench-stores.ts'
import { OWNER, readWhole, requestOf } from './run-request.ts'

const PRIOR = 10_000
const PAGE = 1_000
const REF = { ...OWNER, threadId: 'long' }

/** Makes a table of the cost of a thread with 10,000 messages. */
export async function longThreadTable(): Promise<string> {
  await using stores = benchStores()
  const [memory, sqlite] = [worksOn(stores.memory), worksOn(stores.sqlite)]
  const medians = mediansOf(await measureInTurn([...memory, ...sqlite].map(({ work }) => work)))
  const cells = (micros = Number.NaN) => `${(micros / 1_000).toFixed(2)} | ${(micros / PRIOR).toFixed(3)}`
  return [
    '| with 10,000 messages before it | in memory, ms | µs a message | in SQLite, ms | µs a message |\n|---|---|---|---|---|',
    ...memory.map(({ name }, at) => `| ${name} | ${cells(medians[at])} | ${cells(medians[memory.length + at])} |`),
  ].join('\n')
}

/** Contract: each round starts with a new thread, so that it hardly grows. */
function worksOn(store: Store): readonly { readonly name: string; readonly work: Work }[] {
  const agent = chatModelAgent({ name: 'bench', model: wordModel(1) })
  const threadRunner = runner({ agent, store })
  const handler = agUiHandler({ runner: threadRunner, store, owner: OWNER })
  const get = (path: string) => handler(new Request(`http://localhost/threads/${REF.threadId}/${path}`))
  const onLongThread = (run: () => Promise<unknown>): Work => ({
    run,
    prepare: () => seed(store),
    clear: () => store.threads.delete(REF),
  })
  const readAll = async () => {
    let seen = 0
    for (let after = 0; ; after += PAGE) {
      const page = await store.threads.messages(REF, { after, limit: PAGE })
      seen += page.length
      if (page.length < PAGE) break
    }
    if (seen < PRIOR) throw new Error(`bench: expected ${PRIOR} messages, got ${seen}`)
  }
  return [
    { name: 'reading it from the store', work: onLongThread(readAll) },
    {
      name: 'a turn of the runner',
      work: onLongThread(() => expectText(5, threadRunner.query('Go.', { session: REF }))),
    },
    {
      name: 'a turn over AG-UI',
      work: onLongThread(async () => {
        const { end } = await readWhole(await handler(requestOf(REF.threadId, crypto.randomUUID())))
        if (!end.includes('"RUN_FINISHED"')) throw new Error(`bench: a run did not finish: ${end}`)
      }),
    },
    {
      name: 'opening it, `/connect`',
      work: onLongThread(async () => {
        const { bytes, end } = await readWhole(await get('connect'))
        if (bytes < PRIOR * 50 || !end.includes('"RUN_FINISHED"')) throw new Error(`bench: ${bytes} bytes, ${end}`)
      }),
    },
    {
      name: 'opening its last page, `/messages?limit=100`',
      work: onLongThread(async () => {
        const page = (await (await get(`messages?limit=100&after=${PRIOR - 100}`)).json()) as { messages: unknown[] }
        if (page.messages.length !== 100) throw new Error(`bench: a page of ${page.messages.length}`)
      }),
    },
  ]
}

async function seed({ threads, leases }: Store): Promise<void> {
  await threads.open(REF)
  const { token } = await leases.acquire(REF, { runId: 'seed', ttlMs: 60_000 })
  await threads.commit(REF, { messages: PAST.map((message) => ({ runId: 'seed', message })) }, token)
  await leases.release(REF, token)
}

/** Questions and answers with one sentence each. */
const PAST: readonly Message[] = Array.from({ length: PRIOR }, (_, i): Message => {
  const content = `Message ${i} of a long conversation about the weather in Beijing and elsewhere.`
  return i % 2
    ? { id: `m${i}`, role: 'assistant', content, agentName: 'bench' }
    : { id: `m${i}`, role: 'user', content }
})
