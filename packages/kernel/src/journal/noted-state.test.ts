import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TrackedState } from '../context/state.ts'
import { type Agent, type AgentEvent, JOURNAL, type Json, say } from '../index.ts'
import { applyChanges, NotedState } from '../journal.ts'
import { runNested, startRun } from '../run.ts'
import { attempt, MemoryJournal } from './journal.fixture.ts'

function change(
  state: NotedState | undefined,
  { key, value }: { readonly key: string; readonly value?: Json | undefined },
): void {
  if (value === undefined) state?.delete(key)
  else state?.set(key, value)
}

const stateOf = (values: Record<string, Json> = {}) => new TrackedState(new Map(Object.entries(values)))

describe('the state of a step', () => {
  it('writes through, and notes what was changed with its last value', () => {
    const state = stateOf({ old: 1, kept: 2 })
    const step = new NotedState(state)
    step.set('mood', 'good')
    step.set('mood', 'better')
    step.delete('old')
    expect([...state.keys()].toSorted()).toEqual(['kept', 'mood'])
    expect([step.get('mood'), step.get('kept'), step.get('old')]).toEqual(['better', 2, undefined])
    expect(step.changes()).toEqual({ set: { mood: 'better' }, removed: ['old'] })
  })

  it('has no changes if nothing was written', () => {
    const step = new NotedState(stateOf({ a: 1 }))
    step.get('a')
    expect(step.changes()).toEqual({})
  })

  it('refuses what a state refuses, and does not note it', () => {
    const step = new NotedState(stateOf())
    expect(() => step.set('__proto__', 1)).toThrow(expect.objectContaining({ code: 'VALIDATION_FAILED' }))
    expect(step.changes()).toEqual({})
  })

  it('shares the changes that are still to be shown with the state below it', () => {
    const state = stateOf()
    const step = new NotedState(state)
    step.set('a', 1)
    expect([step.changed, state.changed]).toEqual([true, true])
    expect(step.take()).toEqual({ set: { a: 1 }, removed: [] })
    expect([step.changed, state.changed]).toEqual([false, false])
  })
})

describe('steps that write the same key side by side', () => {
  it('a step that ends first has the value that the other one has read', () => {
    const state = stateOf({ count: 0 })
    const [a, b] = [new NotedState(state), new NotedState(state)]
    a.set('count', 1)
    b.set('count', (b.get('count') as number) + 1)
    expect(a.changes()).toEqual({ set: { count: 1 } })
    expect(b.changes()).toEqual({ set: { count: 2 } })
  })

  it('a step that wrote first and ends last does not undo the write of the other', () => {
    const state = stateOf()
    const [a, b] = [new NotedState(state), new NotedState(state)]
    a.set('by', 'a')
    a.set('own', 'a')
    b.delete('by')
    expect(b.changes()).toEqual({ removed: ['by'] })
    expect(a.changes()).toEqual({ set: { own: 'a' } })
  })

  it('applied in the order in which they end, their changes give the state of the run', () => {
    const write = fc.record({
      step: fc.nat(2),
      key: fc.constantFrom('a', 'b'),
      value: fc.option(fc.nat(9), { nil: undefined }),
    })
    const end = fc.record({ end: fc.nat(2) })
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 3, arbitrary: write }, end), { maxLength: 30 }), (script) => {
        const [live, again] = [stateOf({ a: 0 }), stateOf({ a: 0 })]
        const running = new Map([0, 1, 2].map((step) => [step, new NotedState(live)]))
        const finish = (step: number) => {
          applyChanges(again, running.get(step)?.changes() ?? {})
          running.delete(step)
        }
        for (const one of script) {
          if ('end' in one) finish(one.end)
          else change(running.get(one.step), one)
        }
        for (const step of [...running.keys()]) finish(step)
        for (const key of ['a', 'b']) expect(again.get(key)).toBe(live.get(key))
      }),
    )
  })
})

it('a change by a run inside a step is shown once', async () => {
  const inner: Agent = {
    name: 'inner',
    description: '',
    async *run(_input, ctx) {
      ctx.state.set('k', 'inner')
      yield* say(ctx, 'Hi')
    },
  }
  const outer: Agent = {
    name: 'outer',
    description: '',
    async *run(input, ctx) {
      const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
      await runNested(inner, input, ctx.derive({ step: 'tool:0:0', call }))
      yield* say(ctx, 'Done.')
    },
  }
  const { once } = new MemoryJournal()
  const events: AgentEvent[] = []
  const prepare = (ctx: Parameters<Agent['run']>[1]) => ctx.with(JOURNAL, attempt(once))
  for await (const event of startRun(outer, 'Hi', { runId: 'r', prepare })) events.push(event)
  const deltas = events.filter(({ type }) => type === 'state-delta')
  expect(deltas).toMatchObject([{ agentName: 'inner', set: { k: 'inner' } }])
})
