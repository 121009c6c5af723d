import type { RunInput } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { setSubAgents } from '../index.ts'
import { obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, idle, session, settled, setup, user } from './runner.fixture.ts'

describe('an input that cannot be stored is refused before an agent has done anything', () => {
  const bad: [string, unknown][] = [
    ['a state key that is an object internal', { state: { set: JSON.parse('{ "__proto__": { "polluted": true } }') } }],
    ['such a key with a plain value', { state: { set: JSON.parse('{ "__proto__": 1 }') } }],
    ['the state key constructor', { state: { set: { constructor: 1 } } }],
    ['a state that is not JSON', { state: { set: { when: new Date(0) } } }],
    ['a processed id that is invalid', { processed: [''] }],
  ]
  test.each(bad)('%s', async (_, input) => {
    const ran: string[] = []
    const add = (_: unknown, callId: string) => String(ran.push(callId))
    const env = setup({ agent: obedient('Desk', { ...TOOLS, add }) })
    const run = env.runner().run({ messages: [user('call add:a')], ...(input as Partial<RunInput>) }, session)
    expect(await settled(run)).toBe('VALIDATION_FAILED')
    expect(ran).toEqual([])
    expect(await env.messages()).toEqual([])
    expect(env.clock.pending).toBe(0)
  })
})

test('a run id that is used again loses no message', async () => {
  const { runner, lines } = setup()
  const desk = runner()
  await desk.query('one', { ...session, runId: 'R' })
  const again = await settled(desk.query('two', { ...session, runId: 'R' }))
  if (again.startsWith('heard')) expect(await lines()).toContain('user two')
})

test.each(['', 7])('a run id of %o is CONFIG_INVALID', (runId) => {
  const { runner, clock } = setup()
  expect(() => runner().query('hi', { ...session, runId: runId as string })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID' }),
  )
  expect(clock.pending).toBe(0)
})

describe('a run that is neither read nor awaited', () => {
  test('does not begin before it is read or awaited', async () => {
    const { runner, store, clock } = setup()
    runner().query('hi', session)
    await idle()
    expect(await store.threads.get(ANN)).toBeUndefined()
    expect(clock.pending).toBe(0)
  })

  test('does not begin when its reader leaves before the first event', async () => {
    const { runner, store, clock, heard } = setup()
    await runner().query('hi', session)[Symbol.asyncIterator]().return?.()
    expect(await store.threads.get(ANN)).toBeUndefined()
    expect([heard, clock.pending]).toEqual([[], 0])
  })
})

test('more transfers than limits.transfers are TRANSFER_LIMIT, and the thread can be used', async () => {
  const agent = setSubAgents(obedient('Desk'), [setSubAgents(obedient('Floor'), [obedient('Leaf')])])
  const { runner } = setup({ agent, limits: { transfers: 1 } })
  const desk = runner()
  expect(await settled(desk.query('to:Floor hi', session))).toBe('heard to:Floor hi')
  expect(await settled(desk.query('to:Floor/Leaf hi', session))).toBe('TRANSFER_LIMIT')
  expect(await settled(desk.query('next', session))).toMatch(/next$/)
})
