import { EventType } from '@ag-ui/core'
import { decode } from '@ag-ui/proto'
import { describe, expect, it } from 'vitest'
import type { AgUiEvent } from '../protocol.ts'
import { agUiHandler } from './ag-ui-handler.ts'
import { ANN, aborted, framesOf, get, input, post, scriptedAgent, served, typesOf, words } from './http.fixture.ts'

const never = () => new Promise<never>(() => {})

describe('a run over HTTP', () => {
  it('is a stream of events with their position in the log', async () => {
    const { handler } = served(() => words(2))
    const response = await handler(post(input()))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    const frames = await framesOf(response)
    expect(typesOf(frames)).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ])
    expect(frames.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6].map((seq) => `r1:${seq}`))
  })

  it('is protobuf for a client that asks for it, with exactly that content type', async () => {
    const { handler } = served(() => words(1))
    const response = await handler(post(input(), { accept: 'application/vnd.ag-ui.event+proto' }))
    expect(response.headers.get('content-type')).toBe('application/vnd.ag-ui.event+proto')
    const bytes = new Uint8Array(await response.arrayBuffer())
    const types: string[] = []
    for (let at = 0; at < bytes.length; ) {
      const length = new DataView(bytes.buffer, at).getUint32(0)
      types.push(decode(bytes.subarray(at + 4, at + 4 + length)).type)
      at += 4 + length
    }
    expect(types.at(0)).toBe('RUN_STARTED')
    expect(types.at(-1)).toBe('RUN_FINISHED')
    expect(types).toHaveLength(5)
  })

  it('shows an older client only what it understands', async () => {
    const { handler } = served(async function* (_, { signal }) {
      yield* words(1)
      await aborted(signal)
    })
    const { protocolVersion: _, ...old } = input()
    const response = await handler(post(old))
    const cancel = await handler(cancelOf('r1'))
    expect(await cancel.json()).toEqual({ cancelled: true, ended: true })
    const last = (await framesOf(response)).at(-1)?.event
    expect(JSON.stringify(last)).not.toContain('cancelled')
  })

  it('shows files of an older client in the current format', async () => {
    const { handler } = served(() => words(1))
    const { protocolVersion: _, ...old } = input()
    const binary = { type: 'binary', data: 'aGk=', mimeType: 'image/png' }
    const messages = [{ id: 'u', role: 'user', name: null, content: [{ type: 'text', text: 'Look' }, binary] }]
    const frames = await framesOf(await handler(post({ ...old, messages })))
    const source = { type: 'data', value: 'aGk=', mimeType: 'image/png' }
    expect(frames[0]?.event).toMatchObject({ input: { messages: [{ content: [{}, { type: 'image', source }] }] } })
    expect(JSON.stringify(frames[0]?.event)).not.toContain('null')
    expect(typesOf(frames).at(-1)).toBe('RUN_FINISHED')
  })

  it('goes on when its reader leaves and can be read again from any position', async () => {
    const barrier = Promise.withResolvers<void>()
    const { handler } = served(async function* () {
      yield* words(3)
      await barrier.promise
      yield { type: EventType.CUSTOM, name: 'late', value: 1 }
    })
    const response = await handler(post(input()))
    await response.body?.cancel()
    barrier.resolve()
    const all = await framesOf(await handler(get('/threads/t1/runs/r1?protocolVersion=1.0')))
    expect(typesOf(all).slice(-2)).toEqual(['CUSTOM', 'RUN_FINISHED'])
    for (const [i, { id }] of all.entries()) {
      const byHeader = await framesOf(
        await handler(get('/threads/t1/runs/r1?protocolVersion=1.0', { 'last-event-id': id ?? '' })),
      )
      const byQuery = await framesOf(await handler(get(`/threads/t1/runs/r1?protocolVersion=1.0&after=${i + 1}`)))
      expect(byHeader).toEqual(all.slice(i + 1))
      expect(byQuery).toEqual(byHeader)
    }
  })

  it('stops when its last reader leaves, with onDisconnect cancel', async () => {
    const { handler, store } = served(
      async function* (_, { signal }) {
        yield* words(1)
        await aborted(signal)
      },
      { onDisconnect: 'cancel' },
    )
    const first = await handler(post(input()))
    const second = await handler(get('/threads/t1/runs/r1'))
    await first.body?.cancel()
    expect((await store.threads.get({ ...ANN, threadId: 't1' }))?.runId).toBe('r1')
    await second.body?.cancel()
    const frames = await framesOf(await handler(get('/threads/t1/runs/r1?protocolVersion=1.0')))
    expect(frames.at(-1)?.event).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
    expect((await store.threads.get({ ...ANN, threadId: 't1' }))?.runId).toBeUndefined()
  })

  it('is logged before a reader gets it', async () => {
    const { store, handler } = served(() => words(50))
    const { append } = store.runLog
    let logged = 0
    store.runLog.append = async (...args) => {
      // A store that takes its time.
      await new Promise((resolve) => setTimeout(resolve, 1))
      logged = await append(...args)
      return logged
    }
    const response = await handler(post(input()))
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      expect(text.split('\n\n').length - 1).toBeLessThanOrEqual(logged)
    }
    expect(logged).toBe(54)
  })
})

describe('a refused request', () => {
  const { handler } = served(() => words(1), { limits: { bodyBytes: 1_048_576 } })
  const refusal = async (request: Request) => {
    const response = await handler(request)
    const body = (await response.json()) as { code: string; message: string; requestId: string }
    expect(body).toMatchObject({ code: expect.any(String), message: expect.any(String), requestId: expect.any(String) })
    expect(response.headers.get('x-request-id')).toBe(body.requestId)
    return { status: response.status, code: body.code, message: body.message }
  }

  it('has a code, a message and the id of the request', async () => {
    expect(await refusal(post('{'))).toEqual({ status: 400, code: 'VALIDATION_FAILED', message: 'body: expected JSON' })
    expect(await refusal(post({ ...input(), threadId: 7 }))).toMatchObject({
      status: 400,
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('threadId'),
    })
    expect(await refusal(post(input(), { 'content-type': 'text/plain' }))).toMatchObject({
      status: 415,
      code: 'CONTENT_TYPE_UNSUPPORTED',
    })
    expect(await refusal(post(input(), { 'content-encoding': 'gzip' }))).toMatchObject({
      status: 415,
      code: 'CONTENT_TYPE_UNSUPPORTED',
    })
    expect(await refusal(post(input(), { accept: 'image/png' }))).toMatchObject({ status: 406, code: 'NOT_ACCEPTABLE' })
    expect(await refusal(post(input(), { authorization: '' }))).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
    expect(await refusal(get('/nowhere'))).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect(await refusal(get('/'))).toMatchObject({ status: 405, code: 'METHOD_NOT_ALLOWED' })
    expect(await refusal(get('/threads?limit=many'))).toMatchObject({
      status: 400,
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('limit'),
    })
  })

  it('has a body over the limit, with or without a content-length', async () => {
    const large = JSON.stringify(
      input('r9', 't9', { messages: [{ id: 'u', role: 'user', content: 'x'.repeat(1_048_576) }] }),
    )
    expect(await refusal(post(large))).toMatchObject({ status: 413, code: 'BODY_TOO_LARGE' })
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent++
        controller.enqueue(new TextEncoder().encode(' '.repeat(65_536)))
      },
    })
    const request = new Request('http://localhost/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'ann' },
      body,
      duplex: 'half',
    } as RequestInit)
    expect(await refusal(request)).toMatchObject({ status: 413, code: 'BODY_TOO_LARGE' })
    expect(sent).toBeLessThan(20)
  })

  it('names the run that holds a busy thread', async () => {
    const { handler } = served(async function* () {
      yield* words(1)
      await never()
    })
    const first = await handler(post(input('r1')))
    const second = await handler(post(input('r2')))
    expect(second.status).toBe(409)
    expect(await second.json()).toMatchObject({ code: 'THREAD_BUSY', holder: { runId: 'r1' } })
    const removal = await handler(
      new Request('http://localhost/threads/t1', { method: 'DELETE', headers: { authorization: 'ann' } }),
    )
    expect(removal.status).toBe(409)
    expect(await removal.json()).toMatchObject({ code: 'THREAD_BUSY', holder: { runId: 'r1' } })
    await first.body?.cancel()
  })

  it('has a run id that was used before', async () => {
    const { handler } = served(() => words(1))
    await framesOf(await handler(post(input('r1'))))
    const again = await handler(post(input('r1')))
    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ code: 'RUN_ID_TAKEN' })
  })

  it('a body whose client has left is an error of the client, and is not reported', async () => {
    const { handler, reported } = served(() => words(1))
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('aborted')) })
    const headers = { 'content-type': 'application/json', authorization: 'ann' }
    const response = await handler(
      new Request('http://localhost/', { method: 'POST', headers, body, duplex: 'half' } as RequestInit),
    )
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'VALIDATION_FAILED' }])
    expect(reported).toEqual([])
  })

  it('hides the text of internal errors', async () => {
    const { handler, reported } = served(() => words(1))
    const broken = agUiHandler({
      agent: {
        run: () => {
          throw new Error('password is hunter2')
        },
        cancel: async () => false,
      },
      store: served(() => words(1)).store,
      owner: ANN,
      report: (error) => void reported.push(error),
    })
    const response = await broken(post(input()))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('hunter2')
    expect(reported.map(({ message }) => message)).toEqual(['password is hunter2'])
    expect(handler.authenticates).toBe(true)
  })

  it('keeps the request id of a proxy', async () => {
    const response = await handler(get('/nowhere', { 'x-request-id': 'req-7' }))
    expect(await response.json()).toMatchObject({ requestId: 'req-7' })
  })
})

describe('an agent that breaks its contract', () => {
  const ends = async (script: () => AsyncIterable<AgUiEvent>) => {
    const { handler, reported, store } = served(script)
    const frames = await framesOf(await handler(post(input())))
    expect(frames.filter(({ event: { type } }) => type === 'RUN_ERROR' || type === 'RUN_FINISHED')).toHaveLength(1)
    expect(await framesOf(await handler(get('/threads/t1/runs/r1?protocolVersion=1.0')))).toEqual(frames)
    return { last: frames.at(-1)?.event, reported, store }
  }

  it('and throws gets one RUN_ERROR without its error text', async () => {
    const { last, reported } = await ends(async function* () {
      yield* words(1)
      throw new Error('secret')
    })
    expect(last).toMatchObject({ type: 'RUN_ERROR', code: 'AGENT_ERROR' })
    expect(JSON.stringify(last)).not.toContain('secret')
    expect(reported).toHaveLength(1)
  })

  it('and yields an event that is not JSON gets ENCODING_ERROR', async () => {
    const { last } = await ends(async function* () {
      yield { type: EventType.CUSTOM, name: 'big', value: 10n as unknown as string }
    })
    expect(last).toMatchObject({ type: 'RUN_ERROR', code: 'ENCODING_ERROR' })
  })
})

it('needs one agent and one way to authenticate', () => {
  const { store } = served(() => words(1))
  const agent = scriptedAgent(store, () => words(1))
  expect(() => agUiHandler({ agent, store })).toThrow(/authenticate/)
  expect(() => agUiHandler({ store, owner: ANN })).toThrow(/runner/)
  expect(() => agUiHandler({ agent, store, owner: ANN, path: 'x' })).toThrow(/path/)
  expect(() => agUiHandler({ agent, store, owner: ANN, hidden: () => true })).toThrow(/hidden/)
  expect(() => agUiHandler({ agent, store, owner: ANN, limits: { drainMs: 0 } })).toThrow(/drainMs/)
})

function cancelOf(runId: string, threadId = 't1'): Request {
  return new Request(`http://localhost/threads/${threadId}/runs/${runId}/cancel`, {
    method: 'POST',
    headers: { authorization: 'ann' },
  })
}

it('adds its own capabilities to those of the app, category by category', async () => {
  const { handler } = served(() => words(1), { capabilities: { tools: { items: [] }, state: { deltas: false } } })
  const response = await handler(get('/capabilities'))
  expect(await response.json()).toMatchObject({
    tools: { supported: true, clientProvided: true, items: [] },
    state: { snapshots: true, deltas: false },
    humanInTheLoop: { interrupts: true },
  })
})

it('gives the whole input back with RUN_STARTED, with every field that the official Python types need', async () => {
  const { handler } = served(() => words(1))
  const forwardedProps = { theme: 'dark', messages: [] }
  const tools = [{ name: 'pick', description: 'Picks.', parameters: {} }]
  const bare = input('r1')
  const whole = input('r2', 't1', {
    forwardedProps,
    state: { a: 1 },
    tools,
    context: [{ description: 'd', value: 'v' }],
  })
  const echo = async (sent: object) => {
    const [first] = await framesOf(await handler(post(sent)))
    return first?.event.type === EventType.RUN_STARTED ? first.event.input : undefined
  }
  expect(await echo({ ...bare, forwardedProps: null, tools: null })).toEqual({ ...bare, state: {}, forwardedProps: {} })
  expect(await echo(whole)).toEqual(whole)
})
