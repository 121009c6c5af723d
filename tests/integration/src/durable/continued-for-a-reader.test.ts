import { EventType } from '@ag-ui/core'
import { AG_UI_INPUT, type AgUiEvent } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import type { ModelRequest } from '@troupe/kernel'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { joined } from './joined.fixture.ts'
import { ANN, world } from './killable.fixture.ts'
import { ASKED, calm, desk, get, lost, post, textOf, until } from './lost-run.fixture.ts'
import { checkLog, clientOf, followed, logOf, serve } from './served.fixture.ts'

describe("lostRuns: 'continue'", () => {
  test('a follower that comes back at its position gets the rest, and readers are told where another process went on', async () => {
    const { here, looked, handler } = await lost()
    const before = (await logOf(here.store)).length
    const rest = await followed(handler, here, before)
    expect(rest[0]).toEqual({ type: EventType.CUSTOM, name: 'run-continued', value: {} })
    expect(textOf(rest)).toBe('It is red.')
    expect(looked).toEqual(['one', 'two'])
    checkLog(await logOf(here.store))
    expect(await here.store.threads.get(ANN)).not.toHaveProperty('unfinished')
  })

  test('an answer that broke off is taken back, as after a retry', async () => {
    const here = world()
    const agent = (turn: ScriptedTurn) => chatModelAgent({ name: 'desk', model: scriptedModel([turn]) })
    const one = here.start(agent({ text: 'I believe', hang: 'mid' }))
    const client = clientOf(serve(one, here))
    client.messages = [...ASKED]
    void client.runAgent({ runId: 'R' })
    await until(() => client.messages.length === 2)
    await calm()
    one.kill()
    here.expire()
    const before = await logOf(here.store)
    const half = textOf(before)
    expect('I believe'.startsWith(half) && half !== '').toBe(true)
    const handler = serve(here.start(agent('It is red.')), here)
    const rest = await followed(handler, here, before.length)
    expect(rest.map(({ type }) => type)).toEqual([
      'CUSTOM',
      'TEXT_MESSAGE_END',
      'MESSAGES_SNAPSHOT',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'RUN_FINISHED',
    ])
    expect(rest[1]).toMatchObject({ messageId: 'R/#1' })
    expect(rest[2]).toMatchObject({ messages: [{ id: 'u1' }] })
    expect(rest[3]).toMatchObject({ messageId: 'R/#2' })
    checkLog(await logOf(here.store))
    expect((await here.messages()).map(({ id }) => id)).toEqual(['u1', 'R/#2'])
  })

  test('a follower waits until the lease of the process that is gone has expired', async () => {
    const { here, looked, handler } = await lost({}, { expired: false })
    const reading = handler(get('/threads/t/runs/R?protocolVersion=1.0')).then((response) => response.text())
    for (let s = 0; s < 25; s++) {
      here.clock.advance(1_000)
      await calm()
    }
    expect(looked).toEqual(['one'])
    for (let s = 0; s < 15; s++) {
      here.clock.advance(1_000)
      await calm()
    }
    expect(looked).toEqual(['one', 'two'])
    expect(await reading).toContain('RUN_FINISHED')
  })

  test('a request that is sent again leads to the run that the first one began', async () => {
    const { here, looked, handler } = await lost()
    const seen: AgUiEvent[] = []
    const client = clientOf(handler, seen)
    client.messages = [...ASKED]
    await client.runAgent({ runId: 'R' })
    expect(seen.at(-1)).toMatchObject({ type: EventType.RUN_FINISHED, runId: 'R' })
    expect(client.messages.at(-1)).toMatchObject({ content: 'It is red.' })
    expect([looked, (await here.messages()).length]).toEqual([['one', 'two'], 4])
  })

  test('a request with nothing new leads to the run that broke off, and replaces what its client has of it', async () => {
    const { here, handler } = await lost()
    const client = clientOf(handler)
    client.messages = [...ASKED, { id: 'R/#1', role: 'assistant', content: 'I lo' }]
    await client.runAgent({ runId: 'again' })
    expect(client.messages.map(({ content }) => content)).toEqual(['Go', 'I look. ', 'red', 'It is red.'])
    expect(await here.messages()).toHaveLength(4)
  })

  test('a new message settles the run instead, and its log is closed', async () => {
    const { here, looked, handler } = await lost()
    const client = clientOf(handler)
    client.messages = [...ASKED, { id: 'u2', role: 'user', content: 'And?' }]
    await client.runAgent({ runId: 'R2' })
    expect(looked).toEqual(['one'])
    expect((await followed(handler, here)).at(-1)).toMatchObject({ type: EventType.RUN_ERROR, code: 'RUN_LOST' })
  })

  test('a run that broke off before its first event goes on, too', async () => {
    const here = world()
    const one = here.start(
      desk(() => 'red'),
      {},
      { write: 1, done: true },
    )
    const client = clientOf(serve(one, here))
    client.messages = [...ASKED]
    void client.runAgent({ runId: 'R' })
    await one.killed
    await calm()
    const handler = serve(here.start(desk(() => 'red')), here)
    const again = { threadId: 't', runId: 'R', messages: ASKED, tools: [], context: [], state: {} }
    expect((await handler(post('/', again))).status).toBe(409)
    here.expire()
    await expect(logOf(here.store)).rejects.toThrow('unknown run log')
    expect(textOf(await followed(handler, here))).toBe('I look. It is red.')
    checkLog(await logOf(here.store))
  })

  test('two servers that are asked at once continue it once, and both readers get all of it', async () => {
    const { here, looked, handler, start } = await lost()
    const other = serve(start(), here)
    const streams = await Promise.all([followed(handler, here), followed(other, here), followed(other, here)])
    expect(looked).toEqual(['one', 'two'])
    for (const events of streams) expect(joined(events)).toEqual(joined(await logOf(here.store)))
    checkLog(await logOf(here.store))
  })

  test('what a request brought is there again: its tools, its properties', async () => {
    const requests: ModelRequest[] = []
    const props: unknown[] = []
    const agent: typeof desk = (look) =>
      desk(look, {
        handlers: [
          {
            name: 'ear',
            beforeAgent: (ctx) => void props.push(ctx.get(AG_UI_INPUT)?.forwardedProps),
            wrapModelCall: (ctx, request, next) => {
              requests.push(request)
              return next(ctx, request)
            },
          },
        ],
      })
    const { here, handler } = await lost({}, { agent })
    await followed(handler, here)
    expect(props).toEqual([{ locale: 'zh' }, { locale: 'zh' }])
    expect(requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['look', 'pick'],
      ['look', 'pick'],
    ])
    expect(requests[1]?.tools[1]).toEqual(requests[0]?.tools[1])
  })

  test('the runner of the request is picked again', async () => {
    const { here, two } = await lost()
    const picked: unknown[] = []
    const { runner: only, ...process } = two
    const resolved = serve({ ...process, runner: only }, here, {
      runner: undefined as never,
      resolveRunner: ({ forwardedProps, runId }, { user }) => {
        picked.push([forwardedProps, runId, user])
        return only
      },
      appName: 'test',
    })
    expect(textOf(await followed(resolved, here))).toBe('I look. It is red.')
    expect(picked).toEqual([[{ locale: 'zh' }, 'R', 'ann']])
  })

  test('a journal that its agent cannot read ends the log with an error', async () => {
    const { here } = await lost()
    const renamed = here.start(desk(() => 'red', { name: 'counter' }))
    const handler = serve(renamed, here)
    expect((await followed(handler, here)).at(-1)).toMatchObject({ type: EventType.RUN_ERROR, code: 'RUN_LOST' })
    expect(handler.reported.map(({ cause }) => (cause as { code?: string }).code)).toContain('CHECKPOINT_INVALID')
  })

  test('a server at its limit of runs continues it when there is room', async () => {
    const here = world()
    const calls = new Map<string, PromiseWithResolvers<string>>()
    const agent = desk((_, { session, runId }) => {
      const call = Promise.withResolvers<string>()
      calls.set(`${session.threadId} ${runId}`, call)
      return call.promise
    })
    const one = here.start(agent)
    const client = clientOf(serve(one, here))
    client.messages = [...ASKED]
    void client.runAgent({ runId: 'R' })
    await until(() => calls.size === 1)
    await calm()
    one.kill()
    here.expire()
    calls.clear()
    const handler = serve(here.start(agent), here, { maxConcurrentExecutions: 1 })
    const other = clientOf(handler, [], 'other')
    other.messages = [...ASKED]
    void other.runAgent({ runId: 'O' })
    await until(() => calls.size === 1)
    const reading = followed(handler, here)
    for (let i = 0; i < 5; i++) await calm()
    expect([...calls.keys()]).toEqual(['other O'])
    calls.get('other O')?.resolve('blue')
    await until(() => calls.has('t R'))
    calls.get('t R')?.resolve('red')
    expect(textOf(await reading)).toBe('I look. It is red.')
  })

  test('a reader that leaves cancels it, if readers do', async () => {
    const { here, start } = await lost()
    const stopped = Promise.withResolvers<void>()
    const called = Promise.withResolvers<void>()
    const slow = here.start(
      desk(async (_, { signal }) => {
        called.resolve()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        stopped.resolve()
        return 'late'
      }),
    )
    const handler = serve(slow, here, { onDisconnect: 'cancel' })
    const reader = (await handler(get('/threads/t/runs/R?protocolVersion=1.0'))).body?.getReader()
    void (async () => {
      while (!(await reader?.read())?.done);
    })()
    await called.promise
    await calm()
    await reader?.cancel()
    await stopped.promise
    const events = await followed(serve(start(), here), here)
    expect(events.at(-1)).toMatchObject({ type: EventType.RUN_FINISHED, outcome: { type: 'cancelled' } })
    checkLog(events)
  })

  test('a worker is kept alive until it has ended', async () => {
    const { handler } = await lost()
    const kept: Promise<unknown>[] = []
    const waitUntil = (work: Promise<unknown>) => void kept.push(work)
    const response = await handler(get('/threads/t/runs/R?protocolVersion=1.0'), { waitUntil })
    expect(await response.text()).toContain('RUN_FINISHED')
    await Promise.all(kept)
    expect(kept).toHaveLength(1)
  })

  test('a server that is stopping leaves it to another one', async () => {
    const { here, looked, handler, start } = await lost()
    await handler.stop(0)
    const reading = followed(handler, here)
    await calm()
    expect(looked).toEqual(['one'])
    await followed(serve(start(), here), here)
    expect(textOf(await reading)).toBe('I look. It is red.')
  })
})
