import type { Message } from '@troupe/kernel'
import { estimateTokens, repairHistory } from '@troupe/kernel/history'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Compacted, compactedHistory, readCompacted, summaryId } from './compacted.ts'
import { splitHistory } from './split-history.ts'
import { EMPTY } from './summary.ts'

/** A history of exchanges: how many calls each turn makes. */
function historyOf(exchanges: readonly (readonly number[])[], systems = 0): readonly Message[] {
  let last = 0
  const id = () => `m${++last}`
  const head = Array.from({ length: systems }, (): Message => ({ id: id(), role: 'system', content: 'Be kind.' }))
  const said = exchanges.flatMap((turns): Message[] => [
    { id: id(), role: 'user', content: `Question ${last}` },
    ...turns.flatMap((calls): Message[] => {
      const toolCalls = Array.from({ length: calls }, (_, i) => ({
        id: `c${last}-${i}`,
        name: 'look',
        arguments: '{}',
      }))
      return [
        { id: id(), role: 'assistant', content: 'Hm.', ...(calls > 0 && { toolCalls }) },
        ...toolCalls.map(
          (call): Message => ({ id: id(), role: 'tool', callId: call.id, name: 'look', content: 'Seen.' }),
        ),
      ]
    }),
  ])
  return [...head, ...said]
}

const histories = fc
  .tuple(fc.array(fc.array(fc.nat(3), { maxLength: 4 }), { minLength: 1, maxLength: 6 }), fc.nat(2))
  .map(([exchanges, systems]) => historyOf(exchanges, systems))

const compactedAt = (messages: readonly Message[], keep: number, former?: Compacted): Compacted | undefined => {
  const split = splitHistory(messages, former, keep)
  const { notes, cut, request } = split ?? {}
  return (
    split && {
      format: 1,
      cut: cut ?? '',
      summary: EMPTY,
      notes: notes ?? [],
      ...(request !== undefined && { request }),
    }
  )
}
const tokensOf = (messages: readonly Message[]) => messages.reduce((sum, message) => sum + estimateTokens(message), 0)

describe('a history that is cut', () => {
  it('keeps calls with their results, the notes of the application and its end, whatever it is and however often it is cut', () => {
    fc.assert(
      fc.property(histories, fc.nat(80), fc.nat(40), (messages, keep, less) => {
        const compacted = compactedAt(messages, keep)
        if (!compacted) return
        const shown = compactedHistory(compacted, messages, true)
        const recent = shown.slice(1)
        expect(repairHistory(shown)).toBe(shown)
        expect(compacted.notes).toEqual(messages.filter(({ role }) => role === 'system').map(() => 'Be kind.'))
        expect(String(shown[0]?.content).split('Be kind.').length - 1).toBe(compacted.notes?.length)
        expect(recent).toEqual(messages.slice(-recent.length))
        expect(recent.length).toBeGreaterThan(0)
        expect(compactedHistory(compacted, shown, true)).toBe(shown)
        // The next run has the messages from the cut on, or all of them.
        expect(compactedHistory(compacted, recent, true)).toEqual(shown)
        const [, second] = recent.flatMap((message, i) => (message.role === 'tool' ? [] : [i]))
        if (second !== undefined)
          expect(tokensOf(recent.slice(second))).toBeLessThanOrEqual(Math.max(keep, tokensOf(recent)))
        const next = compactedAt(shown, Math.min(keep, less), compacted)
        if (!next) return
        const again = compactedHistory(next, shown, true)
        expect(repairHistory(again)).toBe(again)
        expect(again.filter(({ id }) => id.startsWith('summary:')).map(({ id }) => id)).toEqual([summaryId(next)])
        expect(compactedHistory(next, messages, true)).toEqual(again)
      }),
    )
  })

  it('keeps as much as it may, and the last turn in any case', () => {
    const messages = historyOf([[0], [2, 0], [0]])
    const all = tokensOf(messages)
    expect(splitHistory(messages, undefined, all)).toBeUndefined()
    expect(splitHistory(messages, undefined, all - 1)?.cut).toBe('m2')
    expect(splitHistory(messages, undefined, 0)?.cut).toBe(messages.at(-1)?.id)
    expect(splitHistory(historyOf([[1]]), undefined, 0)).toMatchObject({ cut: 'm2', request: 'Question 1' })
    expect(splitHistory([], undefined, 0)).toBeUndefined()
  })

  it('begins with the call, if another agent has cut at its result', () => {
    const messages = historyOf([[0], [2], [0]])
    const result = messages.findLast(({ role }) => role === 'tool')?.id ?? ''
    const shown = compactedHistory({ format: 1, cut: result, summary: EMPTY }, messages, false)
    expect(shown.slice(1).map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool', 'user', 'assistant'])
  })

  it('keeps all that it has, if the message of the cut is not there', () => {
    const messages = historyOf([[0]])
    const shown = compactedHistory({ format: 1, cut: 'gone', summary: EMPTY }, messages, false)
    expect(shown.slice(1)).toEqual(messages)
  })
})

it.each([
  undefined,
  null,
  'text',
  { format: 2, cut: 'm1', summary: EMPTY },
  { format: 1, cut: 'm1', summary: EMPTY, notes: [7] },
  { format: 1, cut: 'm1', summary: EMPTY, notes: {} },
  { format: 1, cut: 'm1', summary: EMPTY, request: [{ type: 'text' }] },
])('%j is not what was cut off', (value) => {
  expect(readCompacted(value)).toBeUndefined()
})
