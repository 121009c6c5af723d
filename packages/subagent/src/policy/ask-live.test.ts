import { getEventListeners } from 'node:events'
import { KernelError, type Tool } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { fakeClock } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import type { ApprovalListener, ApprovalRequest, Bus } from './bus.ts'
import { createBus } from './create-bus.ts'
import { type Attempt, type CallOptions, callOf, codeOf, idle, noting, noUnhandledRejection } from './policy.fixture.ts'
import { createPolicy } from './policy.ts'

beforeEach(noUnhandledRejection)

interface Asked extends Attempt {
  readonly ran: readonly unknown[]
  readonly reports: readonly KernelError[]
  readonly bus: Bus
}

/** Calls a tool that has to be asked for, where these listen. */
async function asked(
  listeners: readonly ApprovalListener[],
  { more, ...options }: CallOptions & { readonly more?: Partial<Tool> } = {},
): Promise<Asked> {
  const reports: KernelError[] = []
  const ran: unknown[] = []
  const bus = createBus({ report: (error) => void reports.push(error) })
  const stops = listeners.map((listener) => bus.on('approval', listener))
  const tool = createPolicy({ bus, askTimeoutMs: 1000 }).guard(noting('save', ran, more), { path: ['a', 'b'] })
  const attempt = await callOf({ args: { n: 1 }, ...options }).attempt(tool)
  for (const stop of stops) stop()
  expect(bus.listeners()).toBe(0)
  return { ...attempt, ran, reports, bus }
}

const never = () => new Promise<never>(() => {})
const thenable = (then: (yes: (answer: unknown) => void) => void) => ({ then })
const boom = () => {
  throw new Error('boom')
}

describe('a live listener', () => {
  test('is asked with everything it needs to know', async () => {
    let seen: ApprovalRequest | undefined
    const { ran, interrupts } = await asked([
      (request) => {
        seen = request
        return { approved: true }
      },
    ])
    expect(seen).toEqual({
      id: 'c1#policy',
      offersAlways: false,
      agent: 'a/b',
      path: ['a', 'b'],
      callId: 'c1',
      runId: 'R1',
      tool: 'save',
      kind: 'execute',
      args: { n: 1 },
      arguments: '{"n":1}',
      message: 'Allow save?',
      signal: expect.any(AbortSignal),
    })
    expect([ran, interrupts]).toEqual([[{ n: 1 }], []])
  })

  test.each([true, false])('approves or refuses (where the run can wait: %s)', async (canInterrupt) => {
    const yes = await asked([async () => ({ approved: true })], { canInterrupt })
    expect([yes.result, yes.ran.length]).toEqual([{ content: 'save done' }, 1])
    const no = await asked([() => ({ approved: false, message: 'Not today.' })], { canInterrupt })
    expect([codeOf(no), no.result?.content, no.ran]).toEqual(['TOOL_REFUSED', 'Not today.', []])
  })

  test('may give other arguments', async () => {
    const { ran } = await asked([() => ({ approved: true, arguments: '{"n":2}' })])
    expect(ran).toEqual([{ n: 2 }])
  })

  test('leaves it to the next with undefined; the first answer counts', async () => {
    expect((await asked([() => undefined, () => ({ approved: true })])).ran).toHaveLength(1)
    expect((await asked([() => ({ approved: false }), () => ({ approved: true })])).ran).toHaveLength(0)
  })

  test('is not asked where a rule or the default has decided', async () => {
    for (const kind of ['read', 'think'] as const) {
      expect((await asked([() => expect.unreachable()], { more: { kind } })).ran).toHaveLength(1)
    }
  })

  test('cannot change the arguments that the tool gets, nor can other code meanwhile', async () => {
    const args = { deep: { n: 1 } }
    const bus = createBus({ report: () => {} })
    const ran: unknown[] = []
    const tool = createPolicy({ bus }).guard(noting('save', ran), { path: [] })
    bus.on('approval', ({ args: shown }) => {
      args.deep.n = 2
      expect(() => Object.assign((shown as typeof args).deep, { n: 3 })).toThrow(TypeError)
      return { approved: true }
    })
    const handing = { ...tool, invoke: ((_, ctx, call) => tool.invoke?.(args, ctx, call)) as Tool['invoke'] }
    await callOf().attempt(handing as Tool)
    expect(ran).toEqual([{ deep: { n: 1 } }])
  })
})

describe('a listener that does not answer', () => {
  const nonsense = [
    null,
    true,
    'yes',
    1,
    [],
    {},
    { approved: 'true' },
    { approved: 1 },
    { approved: true, arguments: {} },
  ]
  const bad: [string, ApprovalListener][] = [
    ['throws', boom],
    ['rejects', () => Promise.reject(new Error('boom'))],
    ['gives a thenable that throws', () => thenable(boom) as never],
    ['gives a getter that throws', () => Object.defineProperty({}, 'approved', { get: boom }) as never],
    ...nonsense.map((answer): [string, ApprovalListener] => [
      `answers ${JSON.stringify(answer)}`,
      () => answer as never,
    ]),
  ]
  test.each(bad)('%s: it becomes an interrupt, or is denied; never allowed; reported', async (_, listener) => {
    const waiting = await asked([listener])
    expect([waiting.interrupts.length, waiting.ran]).toEqual([1, []])
    const denied = await asked([listener], { canInterrupt: false })
    expect([codeOf(denied), denied.ran]).toEqual(['POLICY_DENIED', []])
    expect(denied.reports.map(({ code }) => code)).toEqual(['LISTENER_FAILED'])
  })

  test('does not spoil the answer of another', async () => {
    expect((await asked([boom, never, async () => ({ approved: true })])).ran).toHaveLength(1)
  })

  test('an answer that says one thing and then another counts as first read', async () => {
    let reads = 0
    const answer = Object.defineProperty({}, 'approved', { get: () => reads++ > 0 })
    const { ran, result } = await asked([() => answer as never])
    expect([ran, result?.error?.code, reads]).toEqual([[], 'TOOL_REFUSED', 1])
  })

  test('a thenable that resolves twice counts once', async () => {
    const twice = thenable((yes) => [{ approved: false }, { approved: true }].forEach(yes))
    expect((await asked([() => twice as never])).ran).toEqual([])
  })

  test.each([true, false])(
    'has its time; then it is asked otherwise (where the run can wait: %s)',
    async (canInterrupt) => {
      const clock = fakeClock()
      let request: ApprovalRequest | undefined
      let answer: (approved: { approved: boolean }) => void = () => {}
      const late = asked(
        [
          (given) => {
            request = given
            return new Promise((resolve) => (answer = resolve))
          },
        ],
        { clock, canInterrupt },
      )
      await idle()
      clock.advance(999)
      await idle()
      expect(request?.signal.aborted).toBe(false)
      clock.advance(1)
      const attempt = await late
      answer({ approved: true })
      await idle()
      expect([attempt.ran, request?.signal.aborted, clock.pending]).toEqual([[], true, 0])
      expect(canInterrupt ? attempt.interrupts.length : codeOf(attempt)).toBe(canInterrupt ? 1 : 'POLICY_DENIED')
    },
  )

  test('and stops listening counts as gone', async () => {
    const bus = createBus()
    const stop = bus.on('approval', never)
    const attempt = callOf({ canInterrupt: false }).attempt(
      createPolicy({ bus }).guard(noting('save', []), { path: [] }),
    )
    await idle()
    stop()
    expect(codeOf(await attempt)).toBe('POLICY_DENIED')
  })
})

describe('an abort while a listener is asked', () => {
  test('is listened for only so long', async () => {
    const { signal } = new AbortController()
    const bus = createBus()
    let listening = 0
    bus.on('approval', () => {
      listening = getEventListeners(signal, 'abort').length
      return { approved: true }
    })
    const guarded = createPolicy({ bus }).guard(noting('save', []), { path: [] })
    await guarded.invoke?.({}, createRunContext({ signal }), { callId: 'c', arguments: '{}' } as never)
    expect([listening, getEventListeners(signal, 'abort').length]).toEqual([1, 0])
  })

  test.each([true, false])('ends the call and runs nothing (where the run can wait: %s)', async (canInterrupt) => {
    const clock = fakeClock()
    const controller = new AbortController()
    let request: ApprovalRequest | undefined
    const attempt = asked(
      [
        (given) => {
          request = given
          return never()
        },
      ],
      { clock, canInterrupt, signal: controller.signal },
    )
    await idle()
    controller.abort(new KernelError('ABORTED', 'stop'))
    const { error, ran } = await attempt
    await idle()
    expect([error?.code, ran, request?.signal.aborted, clock.pending]).toEqual(['ABORTED', [], true, 0])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})

test('the time limits of the agents around are paused while a listener is asked', async () => {
  const bus = createBus()
  const { promise, resolve } = Promise.withResolvers<{ approved: true }>()
  bus.on('approval', () => promise)
  const ran: unknown[] = []
  const s = leadHarness({
    agents: [agent('a', { tools: ['save'], limits: { timeoutMs: 50 } })],
    tools: [noting('save', ran)],
    guard: createPolicy({ bus }).guard,
    scripts: { lead: [calling('a'), 'Done.'], a: [calling({ name: 'save' }), completing()] },
  })
  const running = s.run()
  await idle()
  s.clock.advance(10_000)
  resolve({ approved: true })
  const { statuses } = await running
  expect([statuses, ran.length, s.clock.pending]).toMatchObject([[{ reason: 'goal' }], 1, 0])
})
