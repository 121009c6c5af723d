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
  const ids = new CallIds(history)
  for (let round = 0; round < 5; round++) {
    expect(['', 'past-0', 'past-2', `new-${round}`].map((id) => ids.isTaken(id))).toEqual([true, true, true, false])
    ids.take(`new-${round}`)
    expect(ids.isTaken(`new-${round}`)).toBe(true)
  }
})
