import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { defineTool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock, scriptedModel } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { describeLostRun, lostRunOf } from './lost-run.ts'

const session = { app: 'console', user: 'console', threadId: 't' }

it('tells what a run had done before it broke off', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const called = Promise.withResolvers<void>()
  const calls = [{ name: 'look' }, { name: 'hang' }]
  const tool = (name: string, invoke: () => string | Promise<string>) =>
    defineTool({ name, description: name, parameters: { type: 'object' }, invoke })
  const agent = chatModelAgent({
    name: 'clerk',
    model: scriptedModel([{ toolCalls: calls }]),
    tools: [
      tool('look', () => 'found'),
      tool('hang', () => {
        called.resolve()
        return new Promise(() => {})
      }),
    ],
  })
  expect(await lostRunOf(store, session)).toBeUndefined()
  // Nothing advances the clock of the run, as if its process had died.
  const run = runner({ agent, store, clock: fakeClock() }).query('Look it up', { session })
  void run.catch(() => undefined)
  await called.promise
  await expect.poll(() => lostRunOf(store, session)).toMatchObject({ toolCalls: 1, isHeld: true })
  clock.advance(31_000)
  const lost = await lostRunOf(store, session)
  expect(lost && describeLostRun(lost)).toBe('The run for "Look it up" broke off after 1 model call and 1 tool call.')
  expect(describeLostRun({ asked: 'Hi', modelCalls: 2, toolCalls: 0, isHeld: true })).toContain('is active elsewhere')
})
