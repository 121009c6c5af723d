import { type AgentEvent, type CancelMode, KernelError, type Run, type RunRequest } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type FlowRunner, type HistoryOptions, setSubAgents } from '../index.ts'
import { obedient, TOOLS, type Tools } from './obedient.fixture.ts'
import { ANN, idle, resultOf, type Setup, session, settled, setup, tapped, unsound } from './runner.fixture.ts'

/** One request to a thread; `pick` says which of the open questions and calls are answered; if there are none, the request makes some. */
type Deed =
  | { readonly type: 'query'; readonly text: string }
  | { readonly type: 'resume' | 'results'; readonly pick: number }

/** A fault that happens during the run, at one of its events or at an operation of the store. */
type Trouble =
  | { readonly type: 'none' }
  | { readonly type: 'leave' | 'abort' | 'rival'; readonly at: number }
  | { readonly type: 'cancel'; readonly at: number; readonly mode: CancelMode }
  | { readonly type: 'fault'; readonly at: number }

const text = fc.oneof(
  fc.constantFrom('hi', 'set city Beijing', 'unset city', 'to:Leaf hi', 'to:Nobody hi'),
  fc
    .tuple(
      fc.constantFrom('', 'to:Leaf ', 'to:Floor/Deep '),
      fc.array(fc.constantFrom('add', 'ask', 'twice', 'open', 'open', 'add', 'fail'), { minLength: 1, maxLength: 4 }),
    )
    .map(([to, tools]) => `${to}call ${tools.map((tool, i) => `${tool}:${i}`).join(' ')}`),
)
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ type: fc.constant('query' as const), text }),
  fc.record({ type: fc.constantFrom('resume' as const, 'results' as const), pick: fc.integer({ min: 1, max: 15 }) }),
)
const at = fc.integer({ min: 0, max: 20 })
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  fc.constant({ type: 'none' as const }),
  fc.record({ type: fc.constantFrom('leave' as const, 'abort' as const, 'rival' as const), at }),
  fc.record({
    type: fc.constant('cancel' as const),
    at,
    mode: fc.constantFrom('now' as const, 'after-model' as const, 'after-tools' as const),
  }),
  fc.record({ type: fc.constant('fault' as const), at: fc.integer({ min: 1, max: 7 }) }),
)
const story = fc.array(fc.tuple(deed, trouble), { minLength: 1, maxLength: 7 })

const TWICE: Tools = {
  ...TOOLS,
  async twice(ctx) {
    const first = await ctx.interrupt<string>({ reason: 'input' })
    return first + (await ctx.interrupt<string>({ reason: 'input' }))
  },
}
const agentNamed = (name: string) => obedient(name, TWICE)
const agent = () =>
  setSubAgents(agentNamed('Desk'), [agentNamed('Leaf'), setSubAgents(agentNamed('Floor'), [agentNamed('Deep')])])

interface Env extends Setup {
  readonly desk: FlowRunner
  readonly rival: FlowRunner
  readonly tap: { now: () => void }
}

function newEnv(history: HistoryOptions | undefined): Env {
  const tap = { now: () => {} }
  const base = setup({ agent: agent(), ...(history && { history }) }, (clock) =>
    tapped(memoryStore({ clock }), () => tap.now()),
  )
  return { ...base, tap, desk: base.runner(), rival: base.runner() }
}

async function start({ desk, store }: Env, deed: Deed, request: RunRequest): Promise<AsyncIterable<AgentEvent>> {
  const options = { ...request, ...session }
  if (deed.type === 'query') return wrapped(desk.query(deed.text, options))
  const { openCalls = [], checkpoint } = (await store.threads.get(ANN)) ?? {}
  const picked = <T>(all: readonly T[]) => all.filter((_, i) => deed.pick & (1 << i))
  const results = picked(openCalls).map(({ callId }) => resultOf(callId))
  const answers = picked(checkpoint?.interrupts ?? []).map(({ id }) => [id, `answer ${id}`])
  if (answers.length > 0 && (deed.type === 'resume' || results.length === 0)) {
    return wrapped(desk.resume(Object.fromEntries(answers), options))
  }
  if (results.length > 0) return wrapped(desk.run({ messages: results }, options))
  return wrapped(desk.query('to:Floor/Deep call ask:x twice:y open:z', options))
}

/** A run is thenable, so an async function cannot return it as it is. */
const wrapped = (run: Run): AsyncIterable<AgentEvent> => ({
  [Symbol.asyncIterator]: () => run.eventsWithoutThrowing()[Symbol.asyncIterator](),
})

/** Carries out one request with its fault and reads the run to its end. */
async function apply(env: Env, deed: Deed, trouble: Trouble): Promise<void> {
  const stop = new AbortController()
  const before = await env.store.threads.get(ANN)
  const run = await start(env, deed, { signal: stop.signal })
  let operations = 0
  env.tap.now = () => {
    if (trouble.type === 'fault' && ++operations === trouble.at) throw new KernelError('NOT_FOUND', 'the store is down')
  }
  const disturb = async (): Promise<boolean> => {
    if (trouble.type === 'abort') stop.abort()
    if (trouble.type === 'cancel') await env.desk.cancel(ANN, { mode: trouble.mode })
    if (trouble.type === 'rival') await settled(env.rival.query('rival', session))
    return trouble.type === 'leave'
  }
  const events: AgentEvent[] = []
  const read = async () => {
    for await (const event of run) {
      events.push(event)
      if (trouble.type !== 'none' && trouble.type !== 'fault' && events.length === trouble.at + 1 && (await disturb()))
        return
    }
    const ends = events.filter(({ type }) => type === 'run-end')
    if (events.length > 0 && (ends.length !== 1 || events.at(-1)?.type !== 'run-end')) throw new Error('no one end')
  }
  const reading = read().catch((error: unknown) => {
    if (!KernelError.is(error) || events.length > 0) throw error
  })
  await inTime(env, reading)
  env.tap.now = () => {}
  env.clock.advance(30_000) // a release that failed is made up for
  const after = await env.store.threads.get(ANN)
  const [end] = events.slice(-1)
  const asked = events.some((event) => event.type === 'action' && event.action.type === 'interrupt')
  // Its answers were taken and it could not be stored, so the next message marks the outcome as unknown.
  if (after?.checkpoint?.resumedBy !== undefined) return
  if (after?.version === before?.version || asked || end?.type !== 'run-end' || end.outcome === 'interrupted') return
  if (end.outcome === 'failed' || end.outcome === 'cancelled') expect(after).toMatchObject({ openCalls: [] })
  else if (trouble.type === 'none') expect(after?.openCalls.map(({ callId }) => callId)).toEqual(end.openCallIds ?? [])
  expect(after?.checkpoint?.interrupts ?? []).toEqual([])
}

/** Waits for work, and advances the clock if nothing happens otherwise. */
async function inTime({ pass }: Setup, work: Promise<unknown>): Promise<void> {
  let over = false
  const done = work.finally(() => {
    over = true
  })
  done.catch(() => undefined)
  for (let i = 0; i < 20 && !over; i++) {
    await idle()
    if (!over) await pass(2_000)
  }
  if (!over) throw new Error('the run never ended')
  await done
}

/** Lists the faults of a thread between two runs. */
async function faults({ store, messages, clock, heard }: Env): Promise<string[]> {
  const { openCalls = [], checkpoint, runId } = (await store.threads.get(ANN)) ?? {}
  const awaited = [...openCalls, ...(checkpoint?.interrupts ?? [])].map(({ callId }) => callId)
  const history = await messages()
  const answered = history.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  const started = heard.filter(({ type }) => type === 'run-start').length
  return [
    ...unsound(history, awaited),
    ...awaited.filter((id) => id === undefined || answered.includes(id)).map((id) => `${id} is awaited and answered`),
    ...(new Set(awaited).size < awaited.length ? [`${awaited} twice`] : []),
    ...(runId === undefined ? [] : [`${runId} still holds the thread`]),
    ...(clock.pending === 0 ? [] : [`${clock.pending} timers left`]),
    ...(heard.filter(({ type }) => type === 'run-end').length === started ? [] : ['not every run has ended once']),
  ]
}

async function tell(deeds: readonly (readonly [Deed, Trouble])[], history?: HistoryOptions): Promise<Env> {
  const env = newEnv(history)
  for (const [deed, trouble] of deeds) {
    await apply(env, deed, trouble)
    expect(await faults(env)).toEqual([])
  }
  return env
}

test.each([
  ['all', undefined],
  ['the last turn', { last: 1 }],
  ['a few messages', { last: 6 }],
])(
  'whatever happens on a thread of which runs see %s, every call has one result or is awaited, and the next message is answered',
  async (_, history) => {
    await fc.assert(
      fc.asyncProperty(story, async (deeds) => {
        const env = await tell(deeds, history)
        const next = env.runner({ pending: 'drop', agent: agent() }).query('next', session)
        expect(await settled(next)).toMatch(/^heard (.* \| )?next$/)
        expect(await faults(env)).toEqual([])
      }),
      { numRuns: 200 },
    )
  },
  60_000,
)
