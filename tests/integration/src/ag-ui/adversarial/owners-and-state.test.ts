import { AgUiAgent } from '@troupe/ag-ui'
import { runner } from '@troupe/flow'
import { type Agent, say } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { PICK, picking, scripted } from '../in-process-client.fixture.ts'
import { type ServedAgent, says, serve } from './http-server.fixture.ts'

/** An agent that writes hidden keys into the state. */
const keeper: Agent = {
  name: 'Keeper',
  description: 'Keeps secrets.',
  async *run(_, ctx) {
    ctx.state.set('shown', { count: 1 })
    ctx.state.set('secret', 'HIDDEN-SECRET')
    ctx.state.set('temp:scratch', 'TEMP-SECRET')
    yield* say(ctx, 'Kept.')
    ctx.state.set('secret', 'HIDDEN-SECRET-2')
    ctx.state.set('temp:scratch', 'TEMP-SECRET-2')
    ctx.state.set('shown', { count: 2 })
    yield* say(ctx, 'Again.')
  },
}
const hidden = (key: string) => key === 'secret'

const WAYS: [string, () => Promise<ServedAgent>][] = [
  ['a runner', () => serve(keeper, { hidden })],
  [
    'an AgUiAgent',
    () => {
      const store = memoryStore()
      const agent = new AgUiAgent({
        runner: runner({ agent: keeper, store }),
        store,
        hidden,
        appName: 'test',
        userId: 'nobody',
      })
      return serve(keeper, { agent, store })
    },
  ],
]

describe.each(WAYS)('state that is hidden, served through %s', (_, make) => {
  it('shows on no route, and is neither set nor removed by a client', async () => {
    await using served = await make()
    const first = await served.run(says('Hi', { runId: 'first' }))
    expect(first.end).toBe('success')
    const set = await served.run(says('More', { state: { secret: 'mine' } }))
    expect([set.status, set.end]).toEqual([400, 'VALIDATION_FAILED'])
    const second = await served.run(says('More', { runId: 'second', state: { shown: 1, 'temp:scratch': 'mine' } }))
    expect(second.end).toBe('success')
    const third = await served.run(says('More', { runId: 'third', state: { other: 1 } }))
    const pages = [first, second, third]
    for (const path of [
      '/threads/t1',
      '/threads/t1/messages',
      '/threads/t1/connect',
      '/threads/t1/connect?protocolVersion=1.0',
      '/threads',
      '/threads/t1/runs/first',
      '/threads/t1/runs/third?after=1',
      '/capabilities',
    ]) {
      const reply = await served.call('GET', path)
      expect([path, reply.status]).toEqual([path, path === '/capabilities' ? reply.status : 200])
      pages.push(reply)
    }
    for (const { text } of pages) {
      expect(text).not.toMatch(/SECRET|"secret"|\/secret|temp:|scratch/)
    }
    expect(JSON.stringify(pages.map(({ text }) => text))).toContain('shown')
    const thread = await served.store.threads.get({ app: 'test', user: 'ann', threadId: 't1' })
    expect(thread?.state.secret).toBe('HIDDEN-SECRET-2')
  })
})

describe('what belongs to somebody else', () => {
  it('looks on every route like what is not there', async () => {
    const { agent } = scripted([picking('c1'), 'Red.', 'Hello Bob.'])
    await using served = await serve(agent)
    expect((await served.run(says('Hi', { runId: 'mine', tools: [PICK] }))).end).toBe('success')
    const bare = ({ status, text }: { status: number; text: string }) => [
      status,
      text.replace(/"requestId":"[^"]*"/, ''),
    ]
    for (const [method, rest] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/messages'],
      ['GET', '/connect'],
      ['GET', '/runs/mine'],
      ['POST', '/runs/mine/cancel'],
    ] as const) {
      const foreign = await served.call(method, `/threads/t1${rest}`, 'bob')
      const absent = await served.call(method, `/threads/t0${rest}`, 'bob')
      const mixed = (text: string) => text.replaceAll('t0', 't1')
      expect([method, rest, ...bare(foreign)]).toEqual([method, rest, absent.status, mixed(bare(absent)[1] as string)])
    }
    expect((await served.call('GET', '/threads', 'bob')).text).not.toContain('t1')
    expect((await served.call('GET', '/threads')).text).toContain('t1')
  })

  it('is not followed by the id of a run, a Last-Event-ID or a thread of the same name', async () => {
    const { agent } = scripted(['Private words.', 'For Bob.'])
    await using served = await serve(agent)
    const mine = await served.run(says('Hi', { runId: 'mine' }))
    expect(mine.ids.at(0)).toMatch(/^mine:/)
    const bobs = await served.run(says('Hi', { runId: 'bobs' }), 'bob')
    expect(bobs.end).toBe('success')
    const id = { 'last-event-id': 'mine:0' }
    for (const path of [
      '/threads/t1/runs/mine',
      '/threads/t1/runs/bobs',
      '/threads/t1/connect',
      '/threads/t1/runs/mine?after=0',
    ]) {
      const reply = await served.call('GET', path, 'bob', id)
      expect([path, reply.text.includes('Private')]).toEqual([path, false])
    }
    const post = await served.run(says('Hi', { runId: 'mine' }), 'bob', id)
    expect(post.text).not.toContain('Private')
  })

  it('answers nothing of somebody else: a result for a call of another user is unknown', async () => {
    const { agent, model } = scripted([picking('c1'), 'Red.'])
    await using served = await serve(agent)
    await served.run(says('Hi', { tools: [PICK] }))
    const answer = { ...says(''), messages: [{ id: 'x', role: 'tool', toolCallId: 'c1', content: 'red' }] }
    expect((await served.run(answer, 'bob')).end).toBe('TOOL_CALL_UNKNOWN')
    expect(model.requests).toHaveLength(1)
    expect((await served.run(answer)).end).toBe('success')
    expect(model.requests).toHaveLength(2)
  })

  it('without a user every route answers 401 and says nothing about what exists', async () => {
    const { agent } = scripted(['Hi.'])
    await using served = await serve(agent)
    await served.run(says('Hi', { runId: 'mine' }))
    for (const [method, path] of [
      ['POST', '/'],
      ['GET', '/threads'],
      ['GET', '/threads/t1'],
      ['DELETE', '/threads/t1'],
      ['GET', '/threads/t1/messages'],
      ['GET', '/threads/t1/connect'],
      ['GET', '/threads/t1/runs/mine'],
      ['POST', '/threads/t1/runs/mine/cancel'],
      ['GET', '/capabilities'],
    ] as const) {
      const reply = await served.call(method, path, '')
      expect([path, reply.status]).toEqual([path, 401])
    }
  })

  it('an authenticate that throws lets nobody in and says nothing of its inside', async () => {
    const { agent } = scripted(['Hi.'])
    await using served = await serve(agent, {
      authenticate: () => {
        throw new Error('ldap://10.0.0.7 refused secret-password')
      },
    })
    const reply = await served.run(says('Hi'))
    expect(reply.status).toBeGreaterThanOrEqual(400)
    expect(reply.text).not.toMatch(/ldap|password|node_modules|\.ts/)
  })
})
