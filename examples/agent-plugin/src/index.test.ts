import { startRun } from '@troupe/kernel/run'
import { testAgent } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { frontDesk } from './index.ts'

const answers = [{ words: ['open', 'hours'], say: 'We are open from 9 to 5.' }]
const asking = (content: string) => ({ messages: [{ id: 'u1', role: 'user', content }] as const })

// The conformance suite: what a run expects of an agent, when it knows the answer and when it has to ask.
testAgent('frontDesk that knows', () => frontDesk({ answers }), { input: asking('When are you open?') })
testAgent('frontDesk that asks', () => frontDesk({ answers }), {
  input: asking('May I bring a dog?'),
  settings: { canInterrupt: true },
  answer: (questions) => Object.fromEntries(questions.map(({ id }) => [id, 'A small one.'])),
})

it('answers by whole words, in capitals or not', async () => {
  const agent = frontDesk({ answers })
  expect((await startRun(agent, asking('HOURS?'))).text).toBe('We are open from 9 to 5.')
  expect((await startRun(agent, asking('Do you sell openers?'))).text).toBe('I do not know.')
})

it('asks a person with the question as it was put', async () => {
  const { interrupts } = await startRun(frontDesk({ answers }), asking('A dog?'), { canInterrupt: true })
  expect(interrupts).toMatchObject([{ reason: 'input', message: 'A dog?' }])
})
