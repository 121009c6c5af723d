import { expect, it } from 'vitest'
import { type LiveCall, LiveCalls } from './live-call.ts'

const call = (): LiveCall => ({
  questionCancelled: false,
  ask: async () => ({ action: 'accept' }),
  sample: () => Promise.reject(new Error('no model')),
})

it('a question belongs to the only call', async () => {
  const calls = new LiveCalls()
  const only = call()
  calls.add(only)
  expect(await calls.caller()).toBe(only)
})

it('a question waits until one call is left, and no call begins meanwhile', async () => {
  const calls = new LiveCalls()
  const [quick, asking] = [call(), call()]
  calls.add(quick)
  calls.add(asking)
  const caller = calls.caller()
  const entered = calls.whenOpen()
  expect(entered).toBeDefined()
  calls.leave(quick)
  expect(await caller).toBe(asking)
  calls.leave(asking)
  await entered
  expect(calls.whenOpen()).toBeUndefined()
})

it('questions of all calls at once are cancelled, because nobody can tell them apart, and calls run one by one from then on', async () => {
  const calls = new LiveCalls()
  const [first, second] = [call(), call()]
  calls.add(first)
  calls.add(second)
  const callers = [calls.caller(), calls.caller()]
  expect(await Promise.all(callers)).toEqual([undefined, undefined])
  expect([first.questionCancelled, second.questionCancelled]).toEqual([true, true])
  calls.leave(first)
  expect(calls.whenOpen()).toBeDefined()
  calls.leave(second)
  expect(calls.whenOpen()).toBeUndefined()
})

it('a question without a call has no answer', async () => {
  expect(await new LiveCalls().caller()).toBeUndefined()
})
