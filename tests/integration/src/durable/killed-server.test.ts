import { EventType } from '@ag-ui/core'
import type { AgUiEvent } from '@troupe/ag-ui'
import { sqliteStore } from '@troupe/store-sqlite'
import { describe, expect, test } from 'vitest'
import { joined } from './joined.fixture.ts'
import { ANN } from './killable.fixture.ts'
import { type Servers, servers } from './killed-servers.fixture.ts'
import { checkLog, logOf } from './served.fixture.ts'

/** Reads the run of a client, kills the server at a moment, and gives what is left of it. */
async function killedAt(
  here: Servers,
  question: string,
  isMoment: (seen: readonly AgUiEvent[], noted: readonly string[]) => boolean,
) {
  const seen: AgUiEvent[] = []
  const client = here.client(seen)
  client.addMessage({ id: 'u1', role: 'user', content: question })
  const running = client.runAgent({ runId: 'R' })
  while (!isMoment(seen, here.noted())) await new Promise((resolve) => setTimeout(resolve, 5))
  const before = here.noted().length
  const killing = here.kill()
  await running
  await killing
  return { seen, client, after: here.noted().slice(before) }
}

/** What the store has of the run. */
async function stored(path: string) {
  await using store = sqliteStore({ path })
  await expect.poll(async () => (await store.records.runs(ANN)).map(({ status }) => status)).not.toContain('generating')
  const log = await logOf(store)
  checkLog(log)
  const runs = await store.records.runs(ANN)
  return {
    log,
    messages: (await store.threads.messages(ANN, { limit: 100 })).map(({ message }) => message),
    thread: await store.threads.get(ANN),
    runs: runs.map(({ runId, status }) => [runId, status]),
    calls: (await store.records.toolCalls(ANN, 'R')).map(({ callId, status }) => [callId, status]),
    models: (await store.records.modelCalls(ANN, 'R')).map(({ messageId }) => messageId),
    usage: await store.records.usage(ANN),
  }
}

const contents = (seen: readonly AgUiEvent[]) =>
  seen.filter(({ type }) => type === EventType.TEXT_MESSAGE_CONTENT).length
const texts = (messages: readonly { readonly role: string; readonly content?: unknown }[]) =>
  messages.filter(({ role }) => role === 'assistant').map(({ content }) => content)
const ANSWER = 'That is all that I have found.'

describe('a server that is killed', { timeout: 60_000 }, () => {
  test('in the middle of an answer: a client that stays gets all of it from the next server', async () => {
    const here = await servers()
    const { seen, client, after } = await killedAt(here, 'look', (events) => contents(events) > 5)
    expect(texts(client.messages)).toEqual(['I am on it. ', ANSWER])
    expect(after).toEqual(['model model:1', 'end'])
    const { log, messages, runs, calls, models, usage } = await stored(here.path)
    expect(joined(seen)).toEqual(joined(log))
    expect(messages.map(({ id }) => id)).toEqual(client.messages.map(({ id }) => id))
    expect([runs, calls]).toEqual([[['R', 'complete']], [['model:0-call', 'complete']]])
    expect([models, usage]).toEqual([['R/#1', 'R/#3'], { inputTokens: 20, outputTokens: 10 }])
  })

  test('in a tool that may run again: its call and its tokens are counted once', async () => {
    const here = await servers()
    const { client, after } = await killedAt(here, 'look', (_, noted) => noted.includes('tool look'))
    expect(texts(client.messages)).toEqual(['I am on it. ', ANSWER])
    expect(after).toEqual(['tool look', 'model model:1', 'end'])
    expect(await stored(here.path)).toMatchObject({
      runs: [['R', 'complete']],
      calls: [['model:0-call', 'complete']],
      models: ['R/#1', 'R/#2'],
      usage: { inputTokens: 20, outputTokens: 10 },
      thread: { state: { look: true } },
    })
  })

  test('in a tool that runs once: it is not run again', async () => {
    const here = await servers()
    const { client, after } = await killedAt(here, 'send', (_, noted) => noted.includes('tool send'))
    expect(after).toEqual(['model model:1', 'end'])
    expect(client.messages.find(({ role }) => role === 'tool')?.content).toBe('The outcome of this call is not known.')
    expect((await stored(here.path)).runs).toEqual([['R', 'complete']])
  })

  test('in an agent inside a tool: only its last step is done again', async () => {
    const here = await servers()
    const { client, after } = await killedAt(
      here,
      'helper',
      (_, noted) => noted.filter((line) => line === 'model model:1').length === 1,
    )
    expect(after.filter((line) => line.startsWith('tool'))).toEqual([])
    expect(texts(client.messages)).toEqual(['I am on it. ', 'I am on it. ', ANSWER, ANSWER])
    const { runs, calls } = await stored(here.path)
    expect([runs.length, runs.every(([, status]) => status === 'complete'), calls.length]).toEqual([2, true, 1])
  })

  test('after the last step: nothing is done again', async () => {
    const here = await servers()
    const { client, after } = await killedAt(here, 'hello', (_, noted) => noted.includes('end'))
    expect(after).toEqual(['end'])
    expect(texts(client.messages)).toEqual([ANSWER])
    expect(await stored(here.path)).toMatchObject({ runs: [['R', 'complete']], models: ['R/#1'] })
  })

  test('at a question, and again after its answer: a page that is loaded anew finds both', async () => {
    const here = await servers()
    const { client } = await killedAt(here, 'pay', (events) => contents(events) > 2)
    expect(client.pendingInterrupts).toHaveLength(1)
    await here.kill()
    const page = here.client()
    await page.connectAgent()
    const [question] = page.pendingInterrupts
    expect(question).toMatchObject({ reason: 'tool_call' })
    const resume = [{ interruptId: question?.id as string, status: 'resolved' as const, payload: { approved: true } }]
    const running = page.runAgent({ runId: 'S', resume })
    while (!here.noted().includes('tool pay')) await new Promise((resolve) => setTimeout(resolve, 5))
    await page.detachActiveRun()
    await running
    await here.kill()
    const again = here.client()
    await again.connectAgent()
    expect(texts(again.messages).at(-1)).toBe(ANSWER)
    await using store = sqliteStore({ path: here.path })
    expect((await store.threads.get(ANN))?.unfinished).toBeUndefined()
    expect(here.noted().filter((line) => line === 'tool pay')).toHaveLength(2)
  })

  test('before it is told to cancel: the run ends as cancelled, and no further step is done', async () => {
    const here = await servers()
    // It is there before, because the lease of the killed one is short.
    const other = await here.start()
    const seen: AgUiEvent[] = []
    const client = here.client(seen)
    client.addMessage({ id: 'u1', role: 'user', content: 'look' })
    const running = client.runAgent({ runId: 'R' })
    while (!here.noted().includes('tool look')) await new Promise((resolve) => setTimeout(resolve, 5))
    const before = here.noted().length
    const killing = here.kill()
    const response = await fetch(`${other.address}/threads/${ANN.threadId}/runs/R/cancel`, { method: 'POST' })
    expect([response.ok, await response.json()]).toMatchObject([true, { cancelled: true }])
    await killing
    await running
    expect(here.noted().slice(before)).toEqual(['end'])
    expect(seen.at(-1)).toMatchObject({ type: EventType.RUN_FINISHED, outcome: { type: 'cancelled' } })
    const { log, runs, thread } = await stored(here.path)
    expect(joined(seen)).toEqual(joined(log))
    expect([runs, thread?.unfinished]).toEqual([[['R', 'cancelled']], undefined])
  })

  test('while two others are there: one goes on, and the readers of both get all of it', async () => {
    const here = await servers()
    const other = await here.start()
    let following: Promise<string> | undefined
    const { seen, client } = await killedAt(here, 'look', (events) => {
      if (contents(events) > 0)
        following ??= fetch(`${other.address}/threads/t/runs/R?protocolVersion=1.0`).then((response) => response.text())
      return contents(events) > 4
    })
    expect(texts(client.messages)).toEqual(['I am on it. ', ANSWER])
    const { log, runs } = await stored(here.path)
    const followed = [...((await following) ?? '').matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json))
    expect([joined(seen), joined(followed)]).toEqual([joined(log), joined(log)])
    expect(runs).toEqual([['R', 'complete']])
    expect(log.filter((event) => event.type === EventType.CUSTOM && event.name === 'run-continued')).toHaveLength(1)
  })
})
