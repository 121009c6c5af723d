import { chatModelAgent } from '@troupe/chat-model'
import { defineTool } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, expect, test } from 'vitest'
import { ANN, type Process, world } from './killable.fixture.ts'

const paid: number[] = []
beforeEach(() => void paid.splice(0))

/** An agent that pays once, if a person allows it; in the process of this number the payment never ends. */
const desk =
  (hangsIn?: number, asks = true) =>
  ({ number }: Process) =>
    chatModelAgent({
      name: 'Desk',
      model: scriptedModel({ 'model:0': { toolCalls: [{ name: 'pay', id: 'c1' }] }, 'model:1': 'Done.' }),
      tools: [
        defineTool({
          name: 'pay',
          description: 'Pays.',
          parameters: { type: 'object' },
          needsApproval: () => asks,
          invoke() {
            paid.push(number)
            return number === hangsIn ? new Promise<never>(() => {}) : 'paid'
          },
        }),
      ],
    })

/** A thread whose process died when the call that asks was in the journal, and the question was not shown. */
async function broken() {
  const here = world()
  const one = here.start(desk(), {}, { write: 4, done: true })
  one.runner.query('Go', { session: ANN, runId: 'R1' }).catch(() => undefined)
  await one.killed
  here.expire()
  return here
}

test('a call that was approved in a run whose question came out of a journal is not made twice', async () => {
  const here = await broken()
  const two = here.start(desk(2))
  const { interrupts = [] } = await two.runner.continue(ANN)
  expect(interrupts).toMatchObject([{ reason: 'approval' }])
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, { approved: true }]))
  two.runner.resume(answers, { session: ANN, runId: 'R2' }).catch(() => undefined)
  while (paid.length === 0) await two.pause(1)
  two.kill()
  here.expire()
  await here.start(desk()).runner.continue(ANN)
  expect(paid).toEqual([2])
  expect(await here.messages()).toMatchObject([{ role: 'user' }, {}, { content: UNKNOWN_RESULT }, { content: 'Done.' }])
})

test('what was asked stays asked when it came out of a journal, even if the tool would not ask any more', async () => {
  const here = await broken()
  const { runner } = here.start(desk(undefined, false))
  const { interrupts = [] } = await runner.continue(ANN)
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, { approved: false }]))
  await runner.resume(answers, { session: ANN, runId: 'R2' })
  expect([interrupts.length, paid]).toEqual([1, []])
})
