import type { Message } from '@troupe/kernel'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StoredHistory } from './stored-history.ts'

const callId = fc.constantFrom('a', 'b', 'c')
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.constant<Message>({ id: '', role: 'user', content: 'Hi.' }),
  fc.uniqueArray(callId, { maxLength: 2 }).map(
    (ids): Message => ({
      id: '',
      role: 'assistant',
      content: '',
      toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
    }),
  ),
  callId.map((callId): Message => ({ id: '', role: 'tool', callId, name: 'look', content: 'found' })),
)
/** The messages of some runs, with ids of their own and calls that no other run makes. */
const runs = fc.array(fc.array(message, { maxLength: 4 }), { maxLength: 6 }).map((all) =>
  all.map((messages, run) =>
    messages.map((one, i): Message => {
      const id = `${run}-${i}`
      if (one.role === 'assistant') {
        return {
          ...one,
          id,
          toolCalls: (one.toolCalls ?? []).map((call) => ({ ...call, id: `${run}-${i}-${call.id}` })),
        }
      }
      if (one.role !== 'tool') return { ...one, id }
      // Often that of the message before, sometimes of one in a former run, sometimes of none.
      return { ...one, id, callId: one.callId === 'c' ? `${run - 1}-0-a` : `${run}-${i - 1}-${one.callId}` }
    }),
  ),
)

describe('a history that runs have added to', () => {
  it('is repaired like one that was read at once, whatever was asked of it before', () => {
    fc.assert(
      fc.property(runs, fc.array(fc.boolean()), (all, asked) => {
        let history = new StoredHistory([], new Set())
        for (const [i, added] of all.entries()) {
          if (asked[i]) history.repaired
          history = history.with(added, `r${i}`)
        }
        const read = new StoredHistory(all.flat(), new Set(all.map((_, i) => `r${i}`)))
        expect(history.repaired).toEqual(read.repaired)
        expect(history.runs).toEqual(read.runs)
      }),
      { numRuns: 500 },
    )
  })

  it('leaves the runs of the history that was read as they are', () => {
    const read = new StoredHistory([], new Set(['r0']))
    const [one, other] = [read.with([], 'r1'), read.with([], 'r2')]
    expect([read.runs, one.runs, other.runs]).toEqual([new Set(['r0']), new Set(['r0', 'r1']), new Set(['r0', 'r2'])])
  })
})
