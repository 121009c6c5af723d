import type { HistoryRewrite, Message, RunContext } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { testHandler } from '@troupe/testkit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, contextOf, ids, result, system, user } from '../handlers.fixture.ts'
import { type HistoryBudgetOptions, historyBudget } from './history-budget.ts'

testHandler('historyBudget', () => historyBudget({ maxTokens: 1 }))
testHandler('historyBudget with a summary', () => historyBudget({ maxTokens: 30, summarize: () => 'Before.' }))

const one = () => 1

/** One model call after the other in one run, each with what the one before left. */
function running(options: HistoryBudgetOptions) {
  const handler = historyBudget(options)
  let ctx: RunContext = contextOf()
  return async (messages: readonly Message[]): Promise<readonly Message[]> => {
    const rewrite: HistoryRewrite = await handler.beforeModelRewriteHistory?.(ctx, messages)
    if (rewrite === undefined) return messages
    if (!('messages' in rewrite)) return rewrite
    ctx = rewrite.ctx
    return rewrite.messages
  }
}

const short = (options: HistoryBudgetOptions, messages: readonly Message[]) => running(options)(messages)

const HISTORY: readonly Message[] = [
  user('u1'),
  assistant('a1', '', ['c1', 'c2']),
  result('c1'),
  result('c2'),
  assistant('a2'),
  user('u2'),
  assistant('a3'),
  user('u3'),
]

describe('a history over the budget', () => {
  it('loses its oldest exchanges whole', async () => {
    expect(ids(await short({ maxTokens: 7, count: one }, HISTORY))).toEqual(['u2', 'a3', 'u3'])
    expect(ids(await short({ maxTokens: 2, count: one }, HISTORY))).toEqual(['u3'])
  })

  it('stays the same array while it is within the budget', async () => {
    expect(await short({ maxTokens: 8, count: one }, HISTORY)).toBe(HISTORY)
    const none: readonly Message[] = []
    expect(await short({ maxTokens: 1 }, none)).toBe(none)
  })

  it('keeps the last user message, though it alone is more than the budget', async () => {
    const huge = user('huge', 'x'.repeat(10_000))
    expect(await short({ maxTokens: 10 }, [...HISTORY, huge])).toEqual([huge])
    const alone = [huge]
    expect(await short({ maxTokens: 10 }, alone)).toBe(alone)
  })

  it('loses the oldest turns of a long last exchange, but never its question and its last turn', async () => {
    const turns = ['1', '2', '3'].flatMap((n) => [
      assistant(`a${n}`, '', [`c${n}`, `d${n}`]),
      result(`c${n}`),
      result(`d${n}`),
    ])
    const history = [user('u0'), assistant('a0'), user('u1'), ...turns]
    expect(ids(await short({ maxTokens: 7, count: one }, history))).toEqual(['u1', ...ids(turns.slice(3))])
    expect(ids(await short({ maxTokens: 1, count: one }, history))).toEqual(['u1', ...ids(turns.slice(6))])
  })

  it('keeps the last `keepLast` messages, with the exchange or turn they belong to', async () => {
    expect(ids(await short({ maxTokens: 1, count: one, keepLast: 2 }, HISTORY))).toEqual(['u2', 'a3', 'u3'])
    const turns = [user('u'), assistant('a1', '', ['c1']), result('c1'), assistant('a2', '', ['c2']), result('c2')]
    expect(ids(await short({ maxTokens: 1, count: one, keepLast: 3 }, turns))).toEqual(ids(turns))
    expect(ids(await short({ maxTokens: 1, count: one, keepLast: 99 }, HISTORY))).toEqual(ids(HISTORY))
  })

  it('keeps the words of the application at its head and right before the question', async () => {
    const history = [system('s1'), system('s2'), user('u1'), assistant('a1'), system('s3'), user('u2')]
    expect(ids(await short({ maxTokens: 1, count: one }, history))).toEqual(['s1', 's2', 's3', 'u2'])
  })

  it('recovers from questions that were never answered', async () => {
    expect(ids(await short({ maxTokens: 1, count: one }, [user('u1'), user('u2'), user('u3')]))).toEqual(['u3'])
  })

  it('without a user message keeps its last turn', async () => {
    const history = [assistant('a1'), assistant('a2', '', ['c1']), result('c1')]
    expect(ids(await short({ maxTokens: 1, count: one }, history))).toEqual(['a2', 'r-c1'])
  })

  it('is cut further than needed where that is asked for, so that it is cut less often', async () => {
    const questions = Array.from({ length: 10 }, (_, i) => user(`u${i}`))
    expect(await short({ maxTokens: 9, trimTo: 4, count: one }, questions)).toHaveLength(4)
  })
})

describe('what a message costs', () => {
  it('is asked once per message', async () => {
    let asked = 0
    const next = running({
      maxTokens: 6,
      count: () => {
        asked++
        return 1
      },
    })
    const after = await next(HISTORY)
    await next([...after, user('u4')])
    expect(asked).toBe(HISTORY.length + 1)
  })

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, '1'])('is an error if it is %s', async (tokens) => {
    await expect(short({ maxTokens: 1, count: () => tokens as number }, HISTORY)).rejects.toThrow(
      `historyBudget: count must return a number from 0 on, got ${JSON.stringify(tokens) === 'null' ? tokens : JSON.stringify(tokens)}`,
    )
  })
})

describe('a summary', () => {
  it('replaces the dropped messages, after the system messages at the head', async () => {
    let given: readonly Message[] = []
    const summarize = async (messages: readonly Message[]) => {
      given = messages
      return 'They said hello.'
    }
    const messages = await short({ maxTokens: 8, count: one, trimTo: 4, summarize }, [system('s'), ...HISTORY])
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['system', 's'],
      ['user', 'Summary of the conversation so far:\nThey said hello.'],
      ['user', 'u2'],
      ['assistant', 'a3'],
      ['user', 'u3'],
    ])
    expect(ids(given)).toEqual(ids(HISTORY.slice(0, 5)))
  })

  it('is made once for what was dropped, and then built upon', async () => {
    const given: (readonly string[])[] = []
    const summarize = (messages: readonly Message[]) => {
      given.push(ids(messages))
      return `Summary ${given.length}.`
    }
    const next = running({ maxTokens: 6, count: one, summarize })
    let messages: readonly Message[] = [user('u1'), assistant('a1'), user('u2'), assistant('a2'), user('u3')]
    for (let step = 1; step <= 8; step++) {
      messages = await next(messages.concat(assistant(`s${step}`, '', [`c${step}`]), result(`c${step}`)))
      expect(messages.length).toBeLessThanOrEqual(6)
      expect(messages.filter(({ role }) => role === 'user').length).toBeLessThanOrEqual(3)
      expect(ids(messages)).toContain('u3')
    }
    const [first, second] = given
    expect(first).toEqual(['u1', 'a1', 'u2', 'a2'])
    expect(second?.slice(1)).toEqual(['s1', 'r-c1', 's2', 'r-c2'])
    expect(second?.[0]).not.toBe('u1')
    expect(given.length).toBeLessThan(8)
  })

  it('is not a user message: without one, the next summary takes its place', async () => {
    const steps = (name: string) => ['1', '2', '3', '4', '5'].map((n) => assistant(name + n))
    const next = running({ maxTokens: 4, count: one, summarize: (messages) => `${messages.length} messages.` })
    const first = await next(steps('a'))
    expect(first.map(({ content }) => content)).toEqual([expect.stringContaining('3 messages.'), 'a4', 'a5'])
    const second = await next([...first, ...steps('b')])
    expect(second.map(({ content }) => content)).toEqual([expect.stringContaining('7 messages.'), 'b5'])
  })

  it('is not summarised alone', async () => {
    let made = 0
    const count = ({ content }: Message) => (String(content).startsWith('Summary') ? 6 : 1)
    const next = running({ maxTokens: 8, trimTo: 1, count, summarize: () => `${++made}` })
    const first = await next([...HISTORY, user('u4')])
    expect(first).toHaveLength(2)
    const grown = [...first, assistant('a4', '', ['c4']), result('c4')]
    expect(await next(grown)).toBe(grown)
    expect(made).toBe(1)
  })

  it('of one run is not known to another', async () => {
    let made = 0
    const handler = historyBudget({ maxTokens: 4, count: one, summarize: () => `${++made}` })
    for (const name of ['ann', 'bob']) await handler.beforeModelRewriteHistory?.(contextOf(name), HISTORY)
    expect(made).toBe(2)
  })

  it('that does not fit, or says nothing, is left out', async () => {
    const count = ({ content }: Message) => String(content).length
    for (const text of ['x'.repeat(1000), '']) {
      const history = [user('u1', 'x'.repeat(90)), assistant('a1', 'x'.repeat(90)), user('u2')]
      expect(ids(await short({ maxTokens: 100, count, summarize: () => text }, history))).toEqual(['u2'])
    }
  })

  it('is not asked for where there is no room for it', async () => {
    const summarize = () => {
      throw new Error('asked')
    }
    expect(ids(await short({ maxTokens: 1, count: one, summarize }, HISTORY))).toEqual(['u3'])
  })

  it('that fails or is not text ends the run with an error', async () => {
    const failing = historyBudget({ maxTokens: 4, count: one, summarize: () => Promise.reject(new Error('no model')) })
    await expect(failing.beforeModelRewriteHistory?.(contextOf(), HISTORY)).rejects.toThrow('no model')
    const wrong = historyBudget({ maxTokens: 4, count: one, summarize: () => 7 as never })
    await expect(wrong.beforeModelRewriteHistory?.(contextOf(), HISTORY)).rejects.toMatchObject({
      message: 'historyBudget: summarize must return text, got 7',
    })
  })
})

it('gives a paired history, within the budget or as small as it may be, with the latest kept (property)', async () => {
  const step = fc.oneof(
    fc.constant({ kind: 'user' as const }),
    fc.constant({ kind: 'system' as const }),
    fc.record({ kind: fc.constant('assistant' as const), calls: fc.nat(3) }),
  )
  const history = fc.array(step, { maxLength: 20 }).map((steps) =>
    steps.flatMap((one, i): Message[] => {
      if (one.kind === 'user') return [user(`u${i}`)]
      if (one.kind === 'system') return [system(`s${i}`)]
      const calls = Array.from({ length: one.calls }, (_, call) => `c${i}-${call}`)
      return [assistant(`a${i}`, '', calls), ...calls.map((id) => result(id))]
    }),
  )
  const weights = fc.array(fc.nat(9), { minLength: 1 })
  const sizes = { maxTokens: fc.integer({ min: 1, max: 60 }), keepLast: fc.integer({ min: 1, max: 4 }) }
  await fc.assert(
    fc.asyncProperty(history, weights, fc.record(sizes), async (messages, costs, { maxTokens, keepLast }) => {
      const cost = new Map(messages.map(({ id }, i) => [id, costs[i % costs.length] ?? 0]))
      const total = (list: readonly Message[]) => list.reduce((sum, { id }) => sum + (cost.get(id) ?? 0), 0)
      const count = ({ id }: Message) => cost.get(id) ?? 0
      const options = { maxTokens, keepLast, count }
      const kept = await short(options, messages)
      expect(repairHistory(kept)).toBe(kept)
      expect(kept.every((message) => messages.includes(message))).toBe(true)
      expect(kept.slice(-keepLast)).toEqual(messages.slice(-keepLast))
      const lastUser = messages.findLast(({ role }) => role === 'user')
      if (lastUser) expect(kept).toContain(lastUser)
      const smallest = await short({ ...options, maxTokens: 1, count: () => 1000 }, messages)
      expect(total(kept) <= maxTokens || ids(kept).join() === ids(smallest).join()).toBe(true)
      const fixed = new Set(smallest)
      const loose = (list: readonly Message[]) => list.filter((message) => !fixed.has(message))
      expect(loose(messages).slice(loose(messages).length - loose(kept).length)).toEqual(loose(kept))
      expect(await short(options, kept)).toBe(kept)
      const summed = await short({ ...options, summarize: () => 'Before.' }, messages)
      expect(repairHistory(summed)).toBe(summed)
      expect(total(summed) <= maxTokens || ids(summed).join() === ids(smallest).join()).toBe(true)
    }),
  )
})

it.each([
  [{}, 'maxTokens must be a whole number from 1 on, got undefined'],
  [{ maxTokens: 0 }, 'maxTokens must be a whole number from 1 on, got 0'],
  [{ maxTokens: 1, count: 1 }, 'count must be a function, got 1'],
  [{ maxTokens: 1, keepLast: 0 }, 'keepLast must be a whole number from 1 on, got 0'],
  [{ maxTokens: 1, trimTo: 2 }, 'trimTo must be a whole number up to maxTokens, got 2'],
  [{ maxTokens: 1, summarize: {} }, 'summarize must be a function, got an object'],
])('refuses the options %j', (options, message) => {
  expect(() => historyBudget(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: `historyBudget: ${message}` }),
  )
})
