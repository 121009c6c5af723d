import { describe, expect, it } from 'vitest'
import type { Interrupt, InterruptRequest } from '../data/action.ts'
import { createRunContext } from '../run/start-run.ts'
import { type CallScope, contextKey, type RunContext } from './context.ts'

const LOCALE = contextKey<string>('locale')
const session = { app: 'test', user: 'ann', threadId: 't1' }
const root = (settings: Parameters<typeof createRunContext>[0] = {}) => createRunContext({ runId: 'r1', ...settings })

/** A call, and the actions and questions it received. */
function calling(scope: Partial<CallScope> = {}) {
  const seen = { actions: [] as unknown[], interrupts: [] as Interrupt[], saved: undefined as unknown }
  const call: CallScope = {
    callId: 'c1',
    onAction: (action) => void seen.actions.push(action),
    onInterrupt: (interrupts, saved) => {
      seen.interrupts.push(...interrupts)
      seen.saved = saved
    },
    ...scope,
  }
  return { seen, ctx: (outer: RunContext) => outer.derive({ step: 'tool:0:0', call }) }
}

describe('values', () => {
  it('are seen by contexts derived later, and not by the one they were derived from', () => {
    const outer = root()
    const inner = outer.with(LOCALE, 'zh').derive({ step: 'agent:1' })
    expect(inner.get(LOCALE)).toBe('zh')
    expect(inner.with(LOCALE, 'en').get(LOCALE)).toBe('en')
    expect(inner.get(LOCALE)).toBe('zh')
    expect(outer.get(LOCALE)).toBeUndefined()
  })

  it('go by the key, not by its name', () => {
    expect(root().with(LOCALE, 'zh').get(contextKey<string>('locale'))).toBeUndefined()
  })

  it('work with a key made by another copy of the kernel', async () => {
    const copy: typeof import('./context.ts') = await import(`./context.ts?${'copy'}`)
    const key = copy.contextKey<number>('n')
    expect(root().with(key, 1).get(key)).toBe(1)
  })

  it.each([undefined, 'locale', { name: 'locale' }, Symbol('locale')])(
    'read with the wrong key %o are CONTEXT_KEY_INVALID',
    (key) => {
      expect(() => root().get(key as never)).toThrow(expect.objectContaining({ code: 'CONTEXT_KEY_INVALID' }))
      expect(() => root().with(key as never, 1)).toThrow(/expected a key made by contextKey\(\), got/)
    },
  )

  it('need a key with a name', () => {
    expect(() => contextKey('')).toThrow(expect.objectContaining({ code: 'CONTEXT_KEY_INVALID' }))
  })
})

describe('a derived context', () => {
  it('has the step of its position, under the one it comes from', () => {
    const agent = root().derive({ step: 'agent:1', agentName: 'weather', runPath: ['router'] })
    expect(agent).toMatchObject({ runId: 'r1', step: 'agent:1', agentName: 'weather', runPath: ['router'] })
    expect(agent.derive({ step: 'tool:0:2' })).toMatchObject({ step: 'agent:1/tool:0:2', agentName: 'weather' })
  })

  it('counts ids per step, whichever context of that step asks', () => {
    const outer = root()
    const branches = [0, 1].map((i) => outer.derive({ step: `branch:${i}` }))
    expect(branches.map((ctx) => ctx.ids.next())).toEqual(['r1/branch:0#1', 'r1/branch:1#1'])
    expect(outer.derive({ step: 'branch:0' }).ids.next()).toBe('r1/branch:0#2')
    expect([outer.ids.next(), outer.with(LOCALE, 'zh').ids.next()]).toEqual(['r1/#1', 'r1/#2'])
  })

  it('keeps a call id that is free, and replaces one that is taken, in every context', () => {
    const outer = root()
    const branches = [0, 1].map((i) => outer.derive({ step: `branch:${i}` }))
    expect(branches.map((ctx) => ctx.ids.call('call-1'))).toEqual(['call-1', 'r1/branch:1#1'])
    expect([outer.ids.call(''), outer.ids.call('call-2')]).toEqual(['r1/#1', 'call-2'])
  })

  it('may have a narrower signal', () => {
    const controller = new AbortController()
    const outer = root()
    const inner = outer.derive({ signal: controller.signal }).derive({ step: 'x' })
    controller.abort()
    expect(inner.signal.aborted).toBe(true)
    expect(outer.signal.aborted).toBe(false)
  })

  it('may have a state of its own', () => {
    const outer = root({ state: { mood: 'good' } })
    const inner = outer.derive({ state: new Map([['mood', 'bad']]) })
    inner.state.set('mood', 'worse')
    expect(outer.state.get('mood')).toBe('good')
    expect(inner.state.get('mood')).toBe('worse')
  })
})

describe('a standalone context', () => {
  it('takes what it is given', () => {
    const { signal } = new AbortController()
    const clock = { now: () => 7, after: () => () => undefined }
    const prepare = (ctx: RunContext) => ctx.with(LOCALE, 'zh')
    const ctx = root({ session, signal, clock, prepare, canInterrupt: true, state: { a: 1 } })
    expect(ctx).toMatchObject({ session, depth: 0, canInterrupt: true, cancelling: undefined })
    expect(ctx.signal).toBe(signal)
    expect(ctx.clock.now()).toBe(7)
    expect(ctx.get(LOCALE)).toBe('zh')
    expect([...ctx.state.keys()]).toEqual(['a'])
  })

  it('has an id, a thread and a time of its own making otherwise', () => {
    const [a, b] = [createRunContext(), createRunContext()]
    expect(a.runId).not.toBe(b.runId)
    expect(a.session.threadId).toBe(a.runId)
    expect(a.clock.now()).toBeGreaterThan(0)
  })

  it('refuses an empty run id and a callback without a name', () => {
    expect(() => createRunContext({ runId: '' })).toThrow(/runId must be a non-empty string, got ""/)
    expect(() => createRunContext({ callbacks: [{} as never] })).toThrow(
      /callbacks: each must be an object with a name/,
    )
  })
})

describe('actions', () => {
  it('of a call go to its runner', () => {
    const { ctx, seen } = calling()
    ctx(root()).sendAction({ type: 'break-loop' })
    expect(seen.actions).toEqual([{ type: 'break-loop' }])
  })

  it('outside a call, or of an unknown type, are coded errors', () => {
    expect(() => root().sendAction({ type: 'break-loop' })).toThrow(/sendAction: works only inside a tool call/)
    const inCall = calling().ctx(root())
    expect(() => inCall.sendAction({ type: 'jump' } as never)).toThrow(/the type must be one of .*, got "jump"/)
    expect(() => inCall.sendAction(undefined as never)).toThrow(expect.objectContaining({ code: 'EVENT_INVALID' }))
  })
})

describe('an interrupt', () => {
  const ctx = () => root({ canInterrupt: true })

  /** The ids of questions that one call asks. */
  async function idsOf(...requests: readonly InterruptRequest[]): Promise<string[]> {
    const { ctx: call, seen } = calling()
    const asking = call(ctx())
    for (const request of requests) await asking.interrupt(request).catch(() => undefined)
    return seen.interrupts.map(({ id }) => id)
  }

  it('ends the call the first time, and is recorded under an id that hangs on the call', async () => {
    const { ctx: call, seen } = calling()
    const request = { reason: 'approval', message: 'Really?' }
    await expect(call(ctx()).interrupt(request)).rejects.toMatchObject({ code: 'INTERRUPTED' })
    expect(seen.interrupts).toEqual([{ ...request, id: expect.stringMatching(/^c1#./), agentName: '', callId: 'c1' }])
  })

  it('has the same id when the call runs again, in whichever order the fields and the questions come', async () => {
    const first = await idsOf({ reason: 'approval', message: 'Really?', metadata: { a: 1, b: 2 } }, { reason: 'input' })
    const again = await idsOf({ reason: 'input' }, { metadata: { b: 2, a: 1 }, message: 'Really?', reason: 'approval' })
    expect(again).toEqual(first.toReversed())
  })

  it('has an id of its own by what is asked and how often it was asked, but not by when it expires', async () => {
    const ids = await idsOf(
      { reason: 'input' },
      { reason: 'input', message: 'Name?' },
      { reason: 'input', responseSchema: { type: 'string' } },
      { reason: 'input', metadata: { n: 1 } },
      { reason: 'input', key: 'other' },
      { reason: 'approval' },
      { reason: 'input' },
      { reason: 'input' },
    )
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !id.startsWith('c1#'))).toEqual([])
    const [once, late] = await Promise.all([idsOf({ reason: 'input' }), idsOf({ reason: 'input', expiresAt: 1 })])
    expect(late).toEqual(once)
  })

  it('has an id of its own by the agent and the hook that ask, so that an answer reaches only the one who asked', async () => {
    const { ctx: call, seen } = calling()
    const asking = call(ctx())
    for (const patch of [{}, { asker: 'h/wrap' }, { asker: 'h/other' }, { agentName: 'other' }]) {
      await asking
        .derive(patch)
        .interrupt({ reason: 'input' })
        .catch(() => undefined)
    }
    const ids = seen.interrupts.map(({ id }) => id)
    expect(new Set(ids).size).toBe(4)
    const answered = calling({ answers: { [ids[1] ?? '']: 'yes' } }).ctx(ctx())
    await expect(answered.interrupt({ reason: 'input' })).rejects.toMatchObject({ code: 'INTERRUPTED' })
    expect(await answered.derive({ asker: 'h/wrap' }).interrupt({ reason: 'input' })).toBe('yes')
  })

  it('gives the answer when the call runs again, each question its own', async () => {
    const [approval = '', input = ''] = await idsOf({ reason: 'approval' }, { reason: 'input' })
    const { ctx: call } = calling({ answers: { [approval]: { approved: true }, [input]: 'blue' } })
    const again = call(ctx())
    expect(await again.interrupt({ reason: 'approval' })).toEqual({ approved: true })
    expect(await again.interrupt({ reason: 'input' })).toBe('blue')
    await expect(again.interrupt({ reason: 'input' })).rejects.toMatchObject({ code: 'INTERRUPTED' })
  })

  it('does not take what every object has for an answer', async () => {
    const { ctx: call } = calling({ callId: 'toString', answers: {} })
    await expect(call(ctx()).interrupt({ reason: 'input' })).rejects.toMatchObject({ code: 'INTERRUPTED' })
  })

  it('is a coded error in a run that cannot wait, outside a run, and for an invalid request', async () => {
    await expect(calling().ctx(root()).interrupt({ reason: 'input' })).rejects.toThrow(
      /this run cannot wait for an answer/,
    )
    await expect(ctx().interrupt({ reason: 'input' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    for (const request of [undefined, {}, { reason: 1 }, { reason: 'input', metadata: { at: new Date() } }]) {
      await expect(
        calling()
          .ctx(ctx())
          .interrupt(request as never),
      ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    }
  })
})

it('emit takes a name and plain JSON', () => {
  expect(root().emit('progress', { done: 1 })).toBeUndefined()
  expect(() => root().emit('', 1)).toThrow(expect.objectContaining({ code: 'EVENT_INVALID' }))
  expect(() => root().emit('progress', new Date() as never)).toThrow(expect.objectContaining({ code: 'EVENT_INVALID' }))
})
