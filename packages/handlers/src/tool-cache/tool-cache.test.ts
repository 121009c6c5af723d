import {
  type Answers,
  type CallScope,
  KernelError,
  type RunContext,
  type Tool,
  type ToolCallResult,
} from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { answersTo, fakeClock, testHandler } from '@troupe/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { callOf, contextOf, LOOK, settled, streamedThrough, toolOf, wrapped } from '../handlers.fixture.ts'
import { type ToolCacheOptions, toolCache } from './tool-cache.ts'

testHandler('toolCache', () => toolCache())
testHandler('toolCache, shared and with a limit of time', () => toolCache({ shared: true, ttlMs: 1000 }))

/** A cache around a tool that numbers its results. */
function counting(options: ToolCacheOptions = {}) {
  let runs = 0
  const handler = toolCache(options)
  const call = wrapped(handler, async () => ({ content: `${++runs}` }))
  return { handler, call, runs: () => runs }
}

describe('an equal call', () => {
  it('gets the result of the one before, whole', async () => {
    const result: ToolCallResult = { content: 'seen', display: 'Seen.', data: { n: 1 }, direct: true }
    let runs = 0
    const call = wrapped(toolCache(), async () => {
      runs++
      return result
    })
    expect(await call(contextOf(), callOf({ at: 'x' }))).toBe(result)
    expect(await call(contextOf(), callOf({ at: 'x' }))).toBe(result)
    expect(runs).toBe(1)
  })

  it('is equal whatever the order of its keys and its spaces, and no arguments are an empty object', async () => {
    const { call, runs } = counting()
    await call(contextOf(), callOf('{"a":{"x":1,"y":[1,{"p":1,"q":2}]},"b":2}'))
    await call(contextOf(), callOf('{ "b": 2, "a": { "y": [1, {"q":2, "p":1}], "x": 1.0 } }'))
    expect(runs()).toBe(1)
    await call(contextOf(), callOf(''))
    await call(contextOf(), callOf('{}'))
    expect(runs()).toBe(2)
  })

  it.each([
    ['other arguments', {}, { a: 1 }, { a: '1' }],
    ['a hostile key', {}, '{}', '{"__proto__":{"a":1}}'],
    ['items in another order', {}, { a: [1, 2] }, { a: [2, 1] }],
  ])('is not one with %s', async (_, options, one, other) => {
    const { call, runs } = counting(options)
    await call(contextOf(), callOf(one))
    await call(contextOf(), callOf(other))
    expect(runs()).toBe(2)
  })

  it('is not one with other options of the call', async () => {
    const { call, runs } = counting()
    await call(contextOf(), callOf({}, { callOptions: { region: 'eu' } }))
    await call(contextOf(), callOf({}, { callOptions: { region: 'us' } }))
    await call(contextOf(), callOf({}))
    expect(runs()).toBe(3)
  })

  it('is not one of another tool, not even of the same name', async () => {
    const { call, runs } = counting()
    for (const tool of [LOOK, toolOf({ name: 'watch' }), toolOf()]) await call(contextOf(), callOf({}, { tool }))
    expect(runs()).toBe(3)
  })
})

describe('users', () => {
  it('never get the results of others, also where names are made to collide', async () => {
    const { call, runs } = counting()
    const session = (app: string, user: string) => createRunContext({ session: { app, user, threadId: 't' } })
    await call(session('a', 'b'), callOf())
    await call(session('a', 'c'), callOf())
    await call(session('a","b', ''), callOf())
    await call(session('', 'a","b'), callOf())
    expect(runs()).toBe(4)
  })

  it('never join the calls of others', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const call = wrapped(toolCache(), async (ctx) => {
      await promise
      return { content: ctx.session.user }
    })
    const both = ['ann', 'bob'].map((user) => call(contextOf(user), callOf()))
    resolve()
    expect((await Promise.all(both)).map(({ content }) => content)).toEqual(['ann', 'bob'])
  })

  it('share results where that is asked for', async () => {
    const { call, runs } = counting({ shared: true })
    await call(contextOf('ann'), callOf())
    await call(contextOf('bob'), callOf())
    expect(runs()).toBe(1)
  })
})

describe('which tools', () => {
  it.each([
    ['a pure tool', {}, { effect: 'pure' }, 1],
    ['an idempotent one, which may read what changes', {}, { effect: 'idempotent' }, 2],
    ['one that says nothing', {}, {}, 2],
    ['a named one', { tools: ['look'] }, { effect: 'pure' }, 1],
    ['a named one that is not pure', { tools: ['look'] }, { effect: 'idempotent' }, 2],
    ['a pure one beside a named one', { tools: ['other'] }, { effect: 'pure' }, 2],
    ['a long-running one, which would never start', {}, { effect: 'pure', longRunning: true }, 2],
  ] satisfies [string, ToolCacheOptions, Partial<Tool>, number][])('%s', async (_, options, says, runs) => {
    const { effect: __, ...plain } = LOOK
    const cache = counting(options)
    const tool: Tool = { ...plain, ...says }
    await cache.call(contextOf(), callOf({}, { tool }))
    await cache.call(contextOf(), callOf({}, { tool }))
    expect(cache.runs()).toBe(runs)
  })

  it('leaves a call of an unknown tool alone', async () => {
    const { call, runs } = counting({ tools: ['ghost'] })
    const { tool, ...ghost } = callOf({}, { name: 'ghost' })
    await call(contextOf(), ghost)
    await call(contextOf(), { ...ghost, callId: 'g2', idempotencyKey: 'g2' })
    expect(runs()).toBe(2)
  })
})

describe('a named tool that is not pure', () => {
  it('is refused when a run starts, with what to do', () => {
    const { beforeAgent } = toolCache({ tools: ['look'] })
    const { effect: _, ...unsaid } = LOOK
    const config = (tool: Tool) => ({
      instruction: '',
      tools: [{ tool, returnDirectly: false }],
      input: { messages: [] },
      runOptions: {},
    })
    expect(() => beforeAgent?.(contextOf(), config(unsaid))).toThrow(
      "toolCache: tool look is not pure: define it with effect: 'pure'",
    )
    expect(() => beforeAgent?.(contextOf(), config(LOOK))).not.toThrow()
    expect(() => beforeAgent?.(contextOf(), config({ ...unsaid, name: 'other' }))).not.toThrow()
  })
})

describe('what is not kept', () => {
  let answers: Answers = {}
  const inCall = (user?: string, onInterrupt: CallScope['onInterrupt'] = () => undefined) =>
    contextOf(user, { canInterrupt: true }).derive({ call: { callId: 'c', onAction() {}, onInterrupt, answers } })
  beforeAll(async () => {
    const onInterrupt: CallScope['onInterrupt'] = (asked) => {
      answers = answersTo(asked, { c: true })
    }
    await expect(inCall('ann', onInterrupt).interrupt({ reason: 'input' })).rejects.toThrow('waiting for an answer')
  })
  const deeds = {
    'a call that sent an action': (ctx: RunContext) => ctx.sendAction({ type: 'transfer-to-agent', agentName: 'b' }),
    'a call that asked a person': (ctx: RunContext) => ctx.interrupt({ reason: 'input' }),
  }
  it.each(Object.entries(deeds))('%s, whatever its tool says', async (_, deed) => {
    let runs = 0
    const call = wrapped(toolCache(), async (ctx) => {
      await deed(ctx)
      return { content: `${++runs}` }
    })
    await call(inCall(), callOf())
    await call(inCall(), callOf())
    expect(runs).toBe(2)
    // At the same time, too.
    await Promise.all([call(inCall(), callOf()), call(inCall(), callOf())])
    expect(runs).toBe(4)
  })

  it('a failure', async () => {
    let runs = 0
    const error = { code: 'TOOL_FAILED', message: 'no' }
    const call = wrapped(toolCache(), async () => (++runs === 1 ? { content: 'no', error } : { content: 'yes' }))
    expect((await call(contextOf(), callOf())).error).toBe(error)
    expect((await call(contextOf(), callOf())).content).toBe('yes')
    expect((await call(contextOf(), callOf())).content).toBe('yes')
    expect(runs).toBe(2)
  })

  it.each(['ABORTED', 'INTERRUPTED'])('%s', async (code) => {
    let runs = 0
    const call = wrapped(toolCache(), async () => {
      if (++runs === 1) throw new KernelError(code, 'test: stop')
      return { content: 'fine' }
    })
    await expect(call(contextOf(), callOf())).rejects.toMatchObject({ code })
    expect((await call(contextOf(), callOf())).content).toBe('fine')
  })

  it('the attempt of a call that was interrupted behind the back of its tool: resumed, it runs again', async () => {
    const { call, runs } = counting()
    const asking = callOf()
    await call(contextOf(), asking)
    await call(contextOf(), asking)
    expect(runs()).toBe(2)
  })

  it.each([
    ['arguments that are not JSON', '{"a":'],
    ['arguments nested too deeply', `${'['.repeat(5_000)}${']'.repeat(5_000)}`],
    ['huge arguments', { text: 'x'.repeat(10_000) }],
  ])('%s', async (_, args) => {
    const { call, runs } = counting()
    await call(contextOf(), callOf(args))
    await call(contextOf(), callOf(args))
    expect(runs()).toBe(2)
  })
})

describe('limits', () => {
  it('forgets what was not used for the longest time', async () => {
    const { call, runs } = counting({ maxEntries: 2 })
    const look = async (at: string) => (await call(contextOf(), callOf({ at }))).content
    expect(await look('a')).toBe('1')
    expect(await look('b')).toBe('2')
    expect(await look('a')).toBe('1')
    expect(await look('c')).toBe('3')
    expect(await look('a')).toBe('1')
    expect(await look('b')).toBe('4')
    expect(runs()).toBe(4)
  })

  it.each([
    ['the clock of the run', {}],
    ['its own clock', { own: true }],
  ])('expires by %s, counted from the start of the call', async (_, { own = false }: { own?: boolean }) => {
    const clock = fakeClock(0)
    let runs = 0
    const handler = toolCache({ ttlMs: 100, ...(own && { clock }) })
    const call = wrapped(handler, async () => {
      clock.advance(10)
      return { content: `${++runs}` }
    })
    const look = async () => (await call(contextOf('ann', own ? {} : { clock }), callOf())).content
    expect(await look()).toBe('1')
    clock.advance(89)
    expect(await look()).toBe('1')
    clock.advance(1)
    expect(await look()).toBe('2')
  })
})

describe('a key of your own', () => {
  it('decides, together with tool name and owner, and may leave a call alone', async () => {
    const { call, runs } = counting({ key: ({ arguments: text }) => (text.includes('skip') ? undefined : 'same') })
    await call(contextOf(), callOf({ a: 1 }))
    await call(contextOf(), callOf({ a: 2 }, { tool: toolOf() }))
    expect(runs()).toBe(1)
    await call(contextOf(), callOf({ a: 2 }, { tool: toolOf({ name: 'watch' }) }))
    await call(contextOf('bob'), callOf({ a: 2 }))
    expect(runs()).toBe(3)
    await call(contextOf(), callOf({ a: 'skip' }))
    await call(contextOf(), callOf({ a: 'skip' }))
    expect(runs()).toBe(5)
  })

  it('that is not text is an error', async () => {
    const { call } = counting({ key: () => 7 as never })
    await expect(call(contextOf(), callOf())).rejects.toThrow('toolCache: key must return text or undefined, got 7')
  })
})

it('keeps the result of a streamed call; an equal one gets it without the chunks', async () => {
  const tool = toolOf({ stream: async function* () {} })
  const handler = toolCache()
  const first = await streamedThrough(handler, contextOf(), callOf({}, { tool }), ['a', 'b'], 'ab')
  expect(first).toEqual({ shown: ['a', 'b'], result: { content: 'ab' } })
  const second = await streamedThrough(handler, contextOf(), callOf({}, { tool }), ['c'], 'c')
  expect(second).toEqual({ shown: [], result: { content: 'ab' } })
})

it('does not let a streamed call wait for the reader of another', async () => {
  const tool = toolOf({ stream: async function* () {} })
  const never = new Promise<ToolCallResult>(() => {})
  let runs = 0
  const call = wrapped(toolCache(), () => (++runs === 1 ? never : Promise.resolve({ content: 'mine' })))
  call(contextOf(), callOf({}, { tool }))
  await settled()
  expect(await call(contextOf(), callOf({}, { tool }))).toEqual({ content: 'mine' })
})

it.each([
  [{ tools: 'look' }, 'tools must be a list of names, got "look"'],
  [{ tools: [''] }, 'tools must be a list of names, got an array'],
  [{ key: 'a' }, 'key must be a function, got "a"'],
  [{ maxEntries: 0 }, 'maxEntries must be a whole number from 1 on, got 0'],
  [{ maxEntries: 1.5 }, 'maxEntries must be a whole number from 1 on, got 1.5'],
  [{ ttlMs: 0 }, 'ttlMs must be a positive number of milliseconds, got 0'],
  [{ ttlMs: Number.NaN }, 'ttlMs must be a positive number of milliseconds, got NaN'],
  [{ clock: {} }, 'clock must be a Clock, got an object'],
  [{ shared: 1 }, 'shared must be true or false, got 1'],
])('refuses the options %j', (options, message) => {
  expect(() => toolCache(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: `toolCache: ${message}` }),
  )
})
