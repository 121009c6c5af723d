import {
  type Agent,
  type CallModel,
  type EventDraft,
  KernelError,
  type ModelPart,
  type RunContext,
  type Store,
  stream,
} from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { createRunContext, startRun } from '@troupe/kernel/run'
import { fakeClock, testHandler } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { contextOf, settled } from '../handlers.fixture.ts'
import { answer, ask, FINISH, REQUEST, saying } from '../model-calls.fixture.ts'
import { type BudgetOptions, budget } from './budget.ts'

const DAY = 86_400_000
const price = (_: string, { inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }) =>
  inputTokens * 0.25 + outputTokens * 0.5

testHandler('budget', () => budget({ limits: [{ per: 'run', tokens: 1e9, cost: 1e9, calls: 1e9 }], price }))
testHandler('budget that only prices', () => budget({ price }))
testHandler('budget of owners', () =>
  budget({ store: memoryStore(), limits: [{ per: 'owner', tokens: 1e9, windowMs: DAY }] }),
)

/** A budget, and contexts of runs on a clock that is moved by hand. */
function made(options: BudgetOptions) {
  const clock = fakeClock(0)
  const store = memoryStore({ clock })
  const handler = budget({ store, ...options })
  const context = (user = 'ann', runId = 'r1', threadId = 't1'): RunContext => {
    const session = { app: 'test', user, threadId }
    return createRunContext({ session, runId, clock })
  }
  /** The custom events of a run that makes one call. */
  const customOf = async (next: CallModel) => {
    const run = (_: unknown, ctx: RunContext) => stream<EventDraft>(async () => void (await ask(handler, ctx, next)))
    const agent: Agent = { name: 'guide', description: '', run }
    const events: unknown[] = []
    for await (const event of startRun(agent, 'Hi', { clock, session: { app: 'test', user: 'ann', threadId: 't1' } })) {
      if (event.type === 'custom') events.push([event.name, event.data])
    }
    return events
  }
  return { clock, store, handler, context, customOf }
}

async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: unknown) => KernelError.from(error).code,
  )
}

describe('a limit of tokens', () => {
  it('lets calls through until it is reached, and refuses the next one before it is made', async () => {
    const { handler, context } = made({ limits: [{ per: 'run', tokens: 25 }] })
    let calls = 0
    const counted: typeof saying = (...pieces) => {
      const next = saying(...pieces)
      return (ctx, request) => {
        calls++
        return next(ctx, request)
      }
    }
    for (const _ of [1, 2, 3]) await ask(handler, context(), counted('Hi'))
    const refused = ask(handler, context(), counted('Hi'))
    await expect(refused).rejects.toMatchObject({
      code: 'BUDGET_EXCEEDED',
      retryable: false,
      message: 'budget: the run may use 25 tokens, got 30 before this call',
      details: { per: 'run', unit: 'tokens', limit: 25, spent: 30 },
    })
    expect(calls).toBe(3)
    await ask(handler, context('ann', 'r2'), counted('Hi'))
  })

  it.each([
    ['thread', ['ann', 'r2', 't1'], ['ann', 'r3', 't2']],
    ['owner', ['ann', 'r2', 't2'], ['ben', 'r3', 't1']],
  ] as const)('per %s counts its runs, and no others', async (per, same, other) => {
    const { handler, context } = made({ limits: [{ per, tokens: 10 }] })
    await ask(handler, context(), saying('Hi'))
    expect(await codeOf(ask(handler, context(...same), saying('Hi')))).toBe('BUDGET_EXCEEDED')
    await ask(handler, context(...other), saying('Hi'))
  })

  it('with a window begins again with the next one, and says when', async () => {
    const { handler, context, clock } = made({ limits: [{ per: 'owner', tokens: 10, windowMs: DAY }] })
    clock.advance(DAY - 1000)
    await ask(handler, context(), saying('Hi'))
    await expect(ask(handler, context(), saying('Hi'))).rejects.toMatchObject({
      code: 'BUDGET_EXCEEDED',
      retryable: true,
      details: { windowMs: DAY, retryAfterMs: 1000 },
    })
    clock.advance(1000)
    await ask(handler, context(), saying('Hi'))
  })

  it('warns once, in the call that comes near it', async () => {
    const { customOf } = made({ limits: [{ per: 'owner', tokens: 40 }], warnAt: 0.5 })
    const events: unknown[] = []
    for (const _ of [1, 2, 3, 4]) events.push(await customOf(saying('Hi')))
    const warning = ['budget-warning', { per: 'owner', unit: 'tokens', limit: 40, spent: 20 }]
    expect(events).toEqual([[], [warning], [], []])
  })

  it('counts the runs inside a run with it, if the agent outside has the handler too', async () => {
    const { handler, context } = made({ limits: [{ per: 'run', tokens: 10 }] })
    const outer = (await handler.beforeAgent?.(context(), {} as never)) as RunContext
    await ask(handler, outer, saying('Hi'))
    expect(await codeOf(ask(handler, outer.derive({ step: 'tool:0:0' }), saying('Hi')))).toBe('BUDGET_EXCEEDED')
  })
})

describe('a limit per run without a store', () => {
  it('counts the agents of a run together, and each thread for itself', async () => {
    const handler = budget({ limits: [{ per: 'run', tokens: 10 }] })
    const agentOf = async (threadId: string, runId = 'r1') => {
      const ctx = createRunContext({ session: { app: 'test', user: 'ann', threadId }, runId })
      return (await handler.beforeAgent?.(ctx, {} as never)) as RunContext
    }
    await ask(handler, await agentOf('t1'), saying('Hi'))
    expect(await codeOf(ask(handler, await agentOf('t1'), saying('Hi')))).toBe('BUDGET_EXCEEDED')
    await ask(handler, await agentOf('t2'), saying('Hi'))
    await ask(handler, await agentOf('t1', 'r2'), saying('Hi'))
  })
})

describe('a call that broke off', () => {
  const text: ModelPart = { type: 'text-delta', delta: 'x'.repeat(400) }

  it('counts as estimated if the model had begun', async () => {
    const { handler, context } = made({ limits: [{ per: 'run', tokens: 100 }] })
    expect(await codeOf(ask(handler, context(), answer([text], new KernelError('MODEL_FAILED', 'cut'))))).toBe(
      'MODEL_FAILED',
    )
    expect(await codeOf(ask(handler, context(), saying('Hi')))).toBe('BUDGET_EXCEEDED')
  })

  it('counts with the attempt that follows it', async () => {
    const { handler, context } = made({ limits: [{ per: 'run', tokens: 100 }] })
    await ask(handler, context(), answer([text, { type: 'restart' }, FINISH]))
    expect(await codeOf(ask(handler, context(), saying('Hi')))).toBe('BUDGET_EXCEEDED')
  })

  it('costs nothing if the model had not', async () => {
    const { handler, context } = made({ limits: [{ per: 'run', tokens: 1 }] })
    expect(await codeOf(ask(handler, context(), answer([], new KernelError('MODEL_FAILED', 'busy'))))).toBe(
      'MODEL_FAILED',
    )
    await ask(handler, context(), saying('Hi'))
  })

  it('has the price of the last model that answered, and before the first of a model without a name', async () => {
    const asked: string[] = []
    const named = (model: string) => {
      asked.push(model)
      return 1
    }
    const { handler, context } = made({ limits: [{ per: 'run', cost: 3 }], price: named })
    const broken = answer([text], new KernelError('MODEL_FAILED', 'cut'))
    for (const next of [broken, saying('Hi'), broken]) await codeOf(ask(handler, context(), next))
    expect(new Set(asked)).toEqual(new Set(['', 'test:1']))
    expect([asked[0], asked.at(-1)]).toEqual(['', 'test:1'])
    expect(await codeOf(ask(handler, context(), saying('Hi')))).toBe('BUDGET_EXCEEDED')
  })

  it('counts when its reader leaves', async () => {
    const { handler, context } = made({ limits: [{ per: 'run', tokens: 100 }] })
    for await (const part of handler.wrapModelCall?.(context(), REQUEST, answer([text, text, FINISH])) ?? []) {
      if (part.type === 'text-delta') break
    }
    await settled()
    expect(await codeOf(ask(handler, context(), saying('Hi')))).toBe('BUDGET_EXCEEDED')
  })
})

describe('costs', () => {
  it('are part of the usage of each call', async () => {
    const { handler, context } = made({ price })
    const parts = await ask(handler, context(), saying('Hi'))
    expect(parts.at(-1)).toMatchObject({ type: 'finish', usage: { inputTokens: 7, outputTokens: 3, cost: 3.25 } })
    const limited = made({ price, limits: [{ per: 'run', tokens: 100 }] })
    expect((await ask(limited.handler, context(), saying('Hi'))).at(-1)).toMatchObject({ usage: { cost: 3.25 } })
  })

  it('are left out where the price is not known, and end the run where they are limited', async () => {
    const unknown = () => undefined
    const free = made({ price: unknown })
    expect((await ask(free.handler, free.context(), saying('Hi'))).at(-1)).toEqual(FINISH)
    const limited = made({ price: unknown, limits: [{ per: 'run', cost: 1 }] })
    await expect(ask(limited.handler, limited.context(), saying('Hi'))).rejects.toMatchObject({
      code: 'PRICE_UNKNOWN',
      message: 'budget: a limit of cost needs the price of each model, got none for test:1',
    })
  })

  it('are limited like tokens', async () => {
    const { handler, context } = made({ price, limits: [{ per: 'owner', cost: 5 }] })
    for (const _ of [1, 2]) await ask(handler, context(), saying('Hi'))
    expect(await codeOf(ask(handler, context(), saying('Hi')))).toBe('BUDGET_EXCEEDED')
  })
})

describe('a limit of calls', () => {
  it('is exact, also for calls at the same time', async () => {
    const { handler, context } = made({ limits: [{ per: 'owner', calls: 5, windowMs: 60_000 }] })
    const calls = Array.from({ length: 12 }, (_, i) => codeOf(ask(handler, context('ann', `r${i}`), saying('Hi'))))
    const codes = await Promise.all(calls)
    expect(codes.filter((code) => code === undefined).length).toBe(5)
    expect(new Set(codes)).toEqual(new Set([undefined, 'RATE_LIMITED']))
  })

  it('does not count calls that were refused', async () => {
    const { handler, context, clock } = made({
      limits: [
        { per: 'owner', calls: 2, windowMs: 60_000 },
        { per: 'owner', calls: 3, windowMs: DAY },
      ],
    })
    for (const _ of [1, 2]) await ask(handler, context(), saying('Hi'))
    await expect(ask(handler, context(), saying('Hi'))).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      retryable: true,
      message: 'budget: the owner may use 2 model calls in 60000 ms, got 2 before this call',
      details: { retryAfterMs: 60_000 },
    })
    clock.advance(60_000)
    await ask(handler, context(), saying('Hi'))
    expect(await codeOf(ask(handler, context(), saying('Hi')))).toBe('RATE_LIMITED')
  })
})

it('counters that are over are removed as new ones come', async () => {
  const { handler, context, clock, store } = made({ limits: [{ per: 'owner', tokens: 1e9, windowMs: 1000 }] })
  for (let i = 0; i < 20; i++) {
    await ask(handler, context(), saying('Hi'))
    clock.advance(1000)
  }
  // That of the last window, and the one that ended as it began.
  expect(await store.counters.prune({ before: 1e15, limit: 100 })).toBe(2)
})

it('a store that is not available fails the call', async () => {
  const failing: Pick<Store, 'counters'> = {
    counters: {
      add: () => Promise.reject(new KernelError('STORE_UNAVAILABLE', 'store: down', { retryable: true })),
      prune: async () => 0,
    },
  }
  const handler = budget({ store: failing, limits: [{ per: 'owner', tokens: 1 }] })
  expect(await codeOf(ask(handler, contextOf(), saying('Hi')))).toBe('STORE_UNAVAILABLE')
})

it.each<[string, unknown]>([
  ['expected limits or price', {}],
  ["limits[0]: per must be 'run', 'thread' or 'owner'", { limits: [{ per: 'day', tokens: 1 }] }],
  ['limits[0]: expected tokens, cost or calls', { limits: [{ per: 'run' }] }],
  ['limits[0]: tokens must be a positive number', { limits: [{ per: 'run', tokens: 0 }] }],
  ['limits[0]: windowMs must be a number from 1 on', { limits: [{ per: 'run', tokens: 1, windowMs: 0 }] }],
  ['a limit of cost needs a price', { limits: [{ per: 'run', cost: 1 }] }],
  ['a limit per owner needs a store', { limits: [{ per: 'owner', tokens: 1 }] }],
  ['store must be a Store with counters', { limits: [{ per: 'owner', tokens: 1 }], store: {} }],
  ['warnAt must be a share up to 1', { price, warnAt: 2 }],
])('refuses options: %s', (message, options) => {
  expect(() => budget(options as BudgetOptions)).toThrow(message)
})
