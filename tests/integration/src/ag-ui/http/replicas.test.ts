import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres, type TestServer } from '../../../../../packages/store-postgres/src/postgres.fixture.ts'
import { runInput } from '../../load/run-input.ts'

/** Two processes on one PostgreSQL: what begins on A continues through B. */
describe('two replicas', { timeout: 60_000 }, () => {
  let database: TestServer
  const children: ChildProcess[] = []
  let a = ''
  let b = ''

  const replica = async (schema: string) => {
    const child = fork(new URL('../../load/postgres-server.ts', import.meta.url), [database.url, schema], {
      execArgv: ['--no-warnings'],
    })
    children.push(child)
    return ((await once(child, 'message')) as [string])[0]
  }
  beforeAll(async () => {
    database = await startPostgres()
    const schema = database.schema()
    a = await replica(schema)
    b = await replica(schema)
  }, 60_000)
  afterAll(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.disconnect()
      await once(child, 'exit')
    }
    await database[Symbol.asyncDispose]()
  }, 60_000)

  const post = (url: string, body: string) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const follow = (url: string, name: string) => fetch(`${url}/threads/${name}/runs/${name}?protocolVersion=1.0`)

  it('a run of A is followed and cancelled through B, and B goes on with the thread', async () => {
    const live = await post(a, runInput('t1', 't1', { deltas: 50, pause: 5, hang: true }))
    const followed = (await follow(b, 't1')).text()
    await expect
      .poll(async () => (await (await fetch(`${b}/threads/t1`)).json()) as unknown)
      .toMatchObject({ runId: 't1' })
    const busy = await post(b, runInput('t1', 't1-early', { deltas: 1 }))
    expect([busy.status, await busy.json()]).toMatchObject([409, { code: 'THREAD_BUSY', holder: { runId: 't1' } }])
    const cancel = await fetch(`${b}/threads/t1/runs/t1/cancel`, { method: 'POST' })
    expect([cancel.status, await cancel.json()]).toEqual([200, { cancelled: true, ended: true }])
    const text = await live.text()
    expect(await followed).toBe(text)
    expect(text).toContain('"outcome":{"type":"cancelled"}')
    expect(await (await post(b, runInput('t1', 't1-next', { deltas: 2 }))).text()).toContain('RUN_FINISHED')
  })

  it('a call of A is answered through B', async () => {
    const tool = { name: 'pick', description: 'Picks.', parameters: { type: 'object', properties: {} } }
    const first = { ...JSON.parse(runInput('t2', 't2', { deltas: 1, call: 'pick' })), tools: [tool] }
    const asked = await (await post(a, JSON.stringify(first))).text()
    const [, callId] = /"pendingToolCallIds":\["([^"]+)"\]/.exec(asked) ?? []
    expect(callId).toBeDefined()
    const answer = { id: 'answer', role: 'tool', toolCallId: callId, content: 'red' }
    const second = { ...first, runId: 't2-b', messages: [...first.messages, answer] }
    const text = await (await post(b, JSON.stringify(second))).text()
    expect(text).toContain('"outcome":{"type":"success"}')
    const { messages } = (await (await fetch(`${a}/threads/t2/messages`)).json()) as { messages: { role: string }[] }
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  it('when A is killed, a follower through B gets an error, and B goes on with the thread', async () => {
    const live = await post(a, runInput('t3', 't3', { deltas: 20, hang: true }))
    const broken = live.text().catch(() => 'cut')
    let text = ''
    let killed = false
    for await (const chunk of (await follow(b, 't3')).body ?? []) {
      text += new TextDecoder().decode(chunk)
      // B has passed on everything that the model says before it hangs.
      if (killed || text.split('"TEXT_MESSAGE_CONTENT"').length <= 20) continue
      children[0]?.kill('SIGKILL')
      killed = true
    }
    expect(await broken).toBe('cut')
    expect(text.split('"TEXT_MESSAGE_CONTENT"').length - 1).toBe(20)
    expect(text.split(/"type":"RUN_(?:ERROR|FINISHED)"/).length - 1).toBe(1)
    expect(text).toContain('"code":"RUN_LOST"')
    expect(await (await post(b, runInput('t3', 't3-next', { deltas: 2 }))).text()).toContain('RUN_FINISHED')
  })
})
