import { HttpAgent } from '@ag-ui/client'
import { ask } from '@troupe-examples/worker/ask'
import { eventsOf, questionOf, textIn } from '@troupe-examples/worker/events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundle } from './bundle.fixture.ts'
import { hasWorkerd, WorkerdProcess } from './workerd.fixture.ts'

const QUESTION = 'What is 6 times 7?'
const ANSWER = '6 times 7 is 42.'

describe.skipIf(!hasWorkerd)('in workerd, without a compatibility flag', () => {
  let worker: WorkerdProcess

  beforeAll(async () => {
    worker = await WorkerdProcess.start((await bundle('@troupe-examples/worker/worker')).code)
  })
  afterAll(() => worker?.[Symbol.asyncDispose]())

  const connect = (threadId: string) =>
    fetch(`${worker.url}/threads/${threadId}/connect`, { headers: { accept: 'text/event-stream' } })

  test('a turn with a transfer, a sub-agent and a tool gives the events that it gives in Node', async () => {
    const events = await eventsOf(await fetch(questionOf(worker.url, 'turn', QUESTION)))
    expect(textIn(events)).toBe(ANSWER)
    expect(events.map(({ type }) => type)).toEqual((await ask(QUESTION)).map(({ type }) => type))
    const calls = events.flatMap(({ toolCallName }) => toolCallName ?? [])
    expect(calls).toEqual(['transfer_to_agent', 'mathematician', 'multiply', 'complete_task'])
  })

  test('the official client has a conversation over several requests', async () => {
    const agent = new HttpAgent({ url: worker.url, threadId: 'client' })
    for (const id of ['m1', 'm2']) {
      agent.addMessage({ id, role: 'user', content: QUESTION })
      await agent.runAgent()
    }
    const said = agent.messages.filter(({ role, content }) => role === 'assistant' && content)
    expect(said.map(({ content }) => content)).toEqual([ANSWER, ANSWER])
    expect(textIn(await eventsOf(await connect('client')))).toBe('')
  })

  test('a run whose reader leaves goes on, and another request reads it to its end', async () => {
    const leaving = new AbortController()
    const response = await fetch(questionOf(worker.url, 'left', QUESTION, leaving.signal))
    await response.body?.getReader().read()
    leaving.abort()
    expect(textIn(await eventsOf(await connect('left')))).toBe(ANSWER)
    expect(textIn(await eventsOf(await fetch(questionOf(worker.url, 'left', QUESTION))))).toBe(ANSWER)
  })

  test('nothing but the log of the agent is printed', () => {
    const lines = worker.printed().trim().split('\n')
    expect(lines.filter((line) => !line.startsWith('{"level":"info"'))).toEqual([])
    expect(lines.length).toBeGreaterThan(1)
  })

  test('a run is cancelled by another request', async () => {
    const response = await fetch(questionOf(worker.url, 'stop', 'Wait.'))
    const thread = (await (await fetch(`${worker.url}/threads/stop`)).json()) as { runId: string }
    const cancelled = await fetch(`${worker.url}/threads/stop/runs/${thread.runId}/cancel`, { method: 'POST' })
    expect(await cancelled.json()).toEqual({ cancelled: true, ended: true })
    expect(textIn(await eventsOf(response))).toBe('')
  })
})
