import { expect, it, vi } from 'vitest'
import { askKillAnswer } from './killed-while-asking.ts'

// Each test starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

it.each(['stateful', 'both'] as const)(
  'a question survives kill -9 of the process that asked it (%s)',
  async (generation) => {
    expect(await askKillAnswer(generation)).toEqual({
      questions: 1,
      outcome: 'complete',
      content: 'A table for 3, for Dr. Ann.',
    })
  },
)
