import { expect, test } from 'vitest'
import type { Message } from '../index.ts'
import { CallIds } from './call-ids.ts'

const history: readonly Message[] = Array.from({ length: 3 }, (_, i) => ({
  id: `m${i}`,
  role: 'assistant',
  content: '',
  toolCalls: [{ id: `past-${i}`, name: 'look', arguments: '{}' }],
}))

test('an id of the history, of this run or no id is taken, however often it is asked for', () => {
  const ids = new CallIds(history, true)
  for (let round = 0; round < 5; round++) {
    expect(['', 'past-0', 'past-2', `new-${round}`].map((id) => ids.isTaken(id))).toEqual([true, true, true, false])
    ids.take(`new-${round}`)
    expect(ids.isTaken(`new-${round}`)).toBe(true)
  }
})

test('after a part of a thread an id that a model may have counted is taken, and one that it drew is free', () => {
  const ids = new CallIds(history, false)
  for (const id of ['call_0', 'call-12', 'functions.search:3', '0', 'c1', 'past-0']) expect(ids.isTaken(id)).toBe(true)
  for (const id of ['call_8fQ2nD0x', 'toolu_01A09q90qw90lq917835lq9', 'aBcDeF123', 'call_0_5f0c1f5e-1c3a']) {
    expect(ids.isTaken(id)).toBe(false)
    ids.take(id)
    expect(ids.isTaken(id)).toBe(true)
  }
})
