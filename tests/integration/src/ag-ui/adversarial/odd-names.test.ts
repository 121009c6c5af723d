import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { PICK, picking, STORES, scripted } from '../in-process-client.fixture.ts'
import { results, says, serve } from './http-server.fixture.ts'

/** Sends headers that fetch does not allow, with bytes of UTF-8 as a browser's EventSource sends them, and returns the answer. */
function rawGet(url: string, headers: Record<string, string>): Promise<{ status: number | undefined; text: string }> {
  const bytes = Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')])
  return new Promise((resolve, reject) => {
    request(url, { headers: Object.fromEntries(bytes) as Record<string, string> }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (data: string) => {
        text += data
      })
      response.on('end', () => resolve({ status: response.statusCode, text }))
    })
      .on('error', reject)
      .end()
  })
}

describe.each(STORES)('odd names, %s', (_, open) => {
  it.each(['__proto__', 'constructor', 'toString', 'ü/ñ %2f?#', '../..', '🙂', 'a:b:c', '.'])(
    '%s is an id like any other',
    async (id) => {
      await using store = open()
      const { agent, model } = scripted([picking(id), 'Done.'])
      await using served = await serve(agent, { store })
      const input = {
        ...says('Hi', { threadId: id, runId: id, tools: [PICK] }),
        messages: [{ id, role: 'user', content: 'Hi' }],
      }
      expect((await served.run(input)).events.at(-1)).toMatchObject({ outcome: { pendingToolCallIds: [id] } })
      const answered = await served.run({ ...results([id, 'red']), threadId: id })
      expect([answered.end, model.requests.length]).toEqual(['success', 2])
      if (id === '.' || id === '../..') return
      const path = `/threads/${encodeURIComponent(id)}`
      expect((await served.call('GET', path)).status).toBe(200)
      const whole = await served.call('GET', `${path}/runs/${encodeURIComponent(id)}?protocolVersion=1.0`)
      expect(whole.end).toBe('success')
      const last = await rawGet(`${served.url}${path}/runs/${encodeURIComponent(id)}`, {
        authorization: 'ann',
        'last-event-id': whole.ids.at(-2) ?? '',
      })
      expect([last.status, last.text.match(/^id: /gm)?.length]).toEqual([200, 1])
      expect((await served.call('DELETE', path)).status).toBe(204)
    },
  )
})

describe('tools of a client', () => {
  it.each([
    ['required', { type: 'object', required: {} }],
    ['required', { type: 'object', required: 'from' }],
    ['properties', { type: 'object', properties: 5 }],
    ['properties', { type: 'object', properties: { from: null } }],
    ['type', { type: ['object'] }],
    ['$ref', { $ref: '#' }],
  ])('with a schema that is none in %s are left out, or their calls wait as any other', async (__, parameters) => {
    const { agent, model } = scripted([picking('c1'), 'Sorry.'])
    await using served = await serve(agent)
    const reply = await served.run(says('Pick', { tools: [{ ...PICK, parameters }] }))
    const offered = model.requests[0]?.tools?.some(({ name }) => name === PICK.name) ?? false
    expect(reply.events.at(-1)).toEqual(
      expect.objectContaining({ outcome: { type: 'success', ...(offered && { pendingToolCallIds: ['c1'] }) } }),
    )
  })

  it('are gone with their run: the next one does not have them', async () => {
    const { agent, model } = scripted(['One.', 'Two.'])
    await using served = await serve(agent)
    await served.run(says('A', { tools: [PICK] }))
    await served.run(says('B'))
    expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name) ?? [])).toEqual([[PICK.name], []])
  })
})

describe('state', () => {
  it('of a run alone is not stored, and odd keys come through as patches that apply', async () => {
    const { agent } = scripted(['One.', 'Two.'])
    await using served = await serve(agent)
    const state = { 'a/b~c': { '': 1, 'x/y': [1, { z: null }] }, 'temp:x': 1, ünï: '\u2028' }
    const first = await served.run(says('A', { state }))
    expect(first.events.find(({ type }) => type === 'STATE_SNAPSHOT')).toEqual({
      type: 'STATE_SNAPSHOT',
      snapshot: { 'a/b~c': state['a/b~c'], ünï: '\u2028' },
    })
    const ref = { app: 'test', user: 'ann', threadId: 't1' }
    expect(Object.keys((await served.store.threads.get(ref))?.state ?? {}).sort()).toEqual(['a/b~c', 'ünï'])
    await served.run(says('B', { state: { kept: true } }))
    const kept = { 'a/b~c': state['a/b~c'], ünï: '\u2028', kept: true }
    expect((await served.store.threads.get(ref))?.state).toEqual(kept)
  })
})
