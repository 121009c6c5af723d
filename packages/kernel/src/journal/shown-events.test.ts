import { describe, expect, it } from 'vitest'
import { TrackedState } from '../context/state.ts'
import type { AgentEvent, EventDraft } from '../data/event.ts'
import { ShownEvents } from '../journal.ts'

const by = (runId: string, draft: EventDraft) => ({ runId, agentName: 'a', runPath: [], ...draft }) as AgentEvent
const chunk = (runId: string, delta: string) => by(runId, { type: 'tool-delta', callId: 'c1', delta })
const changed = (set: object, ...removed: readonly string[]) =>
  by('r', { type: 'state-delta', set: set as never, removed })

describe('what readers have seen of calls', () => {
  it('is not shown again, and of a delta the rest is', () => {
    const shown = new ShownEvents([chunk('r', 'one t')])
    expect([shown.unseen(chunk('r', 'one ')), shown.unseen(chunk('r', 'two'))]).toEqual([undefined, chunk('r', 'wo')])
  })

  it('is known by the run too, because runs inside two calls may give the same id', () => {
    const shown = new ShownEvents([chunk('r/tool:0:0', 'one')])
    const other = chunk('r/tool:0:1', 'one')
    expect([shown.unseen(other), shown.unseen(chunk('r/tool:0:0', 'one'))]).toEqual([other, undefined])
  })
})

describe('questions that readers have seen', () => {
  const asked = (state: string, ...ids: readonly string[]) => {
    const interrupts = ids.map((id) => ({ id, reason: 'input', agentName: 'a' }))
    return by('r', { type: 'action', action: { type: 'interrupt', interrupts, state } })
  }

  it('are not shown again in another order, or with another state', () => {
    const shown = new ShownEvents([asked('before', 'q1', 'q2')])
    expect(shown.unseen(asked('now', 'q2', 'q1'))).toBeUndefined()
  })

  it('are shown with one that they have not seen', () => {
    const shown = new ShownEvents([asked('before', 'q1')])
    const more = asked('now', 'q1', 'q2')
    expect(shown.unseen(more)).toEqual(more)
  })
})

describe('what readers know of the state', () => {
  it('differs from it where a change was not kept', () => {
    const shown = new ShownEvents([changed({ kept: 1, changed: 1, gone: 1 }), changed({}, 'back')])
    const state = new TrackedState(new Map(Object.entries({ kept: 1, changed: 2, back: 3, unknown: 4 })))
    expect(shown.unseenChanges(state)).toEqual({ set: { changed: 2, back: 3 }, removed: ['gone'] })
  })

  it('is not shown again, whether its changes come together or one by one', () => {
    const together = new ShownEvents([changed({ a: 1, b: 2 }, 'c')])
    expect([changed({ a: 1 }), changed({ b: 2 }, 'c')].map((one) => together.unseen(one))).toEqual([
      undefined,
      undefined,
    ])
    const apart = new ShownEvents([changed({ a: 1 }), changed({ b: 2 })])
    expect(apart.unseen(changed({ a: 1, b: 2, d: 4 }))).toEqual(changed({ d: 4 }))
  })

  it('is shown again after an older value that they had not seen', () => {
    const shown = new ShownEvents([changed({ n: 2 })])
    const values = [1, 2].map((n) => shown.unseen(changed({ n })))
    expect(values).toEqual([changed({ n: 1 }), changed({ n: 2 })])
  })

  it('does not differ in what they are shown now, nor in the order of keys', () => {
    const shown = new ShownEvents([changed({ a: { x: 1, y: 2 } })])
    shown.unseen(changed({ b: 1 }))
    const state = new TrackedState(new Map(Object.entries({ a: { y: 2, x: 1 }, b: 1 })))
    expect(shown.unseenChanges(state)).toEqual({})
  })
})
