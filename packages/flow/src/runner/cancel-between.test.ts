import type { AgentEvent, EventOf } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { loop, type RunnerOptions, sequential, setSubAgents } from '../index.ts'
import { obedient } from './obedient.fixture.ts'
import { ANN, idle, session, setup, unsound } from './runner.fixture.ts'

type Stop = 'abort' | 'cancel' | 'after-tools' | 'timeout' | 'leave'

/** Stops a run at an event of an agent, before anything else has started. */
async function stopped(
  text: string,
  agent: RunnerOptions['agent'],
  where: string,
  how: Stop,
): Promise<EventOf<'run-end'>> {
  const env = setup({ agent, limits: { runMs: 60_000 } })
  const desk = env.runner()
  const stop = new AbortController()
  for await (const event of desk.query(text, { ...session, signal: stop.signal }).eventsWithoutThrowing()) {
    if (`${event.agentName} ${event.type}` !== where) continue
    if (how === 'leave') break
    if (how === 'abort') stop.abort()
    else if (how === 'timeout') await env.pass(60_000, 1_000)
    else await desk.cancel(ANN, how === 'cancel' ? {} : { mode: how })
    await idle()
  }
  const ends = env.heard.filter((event: AgentEvent) => event.type === 'run-end')
  expect(ends).toHaveLength(1)
  expect(unsound(await env.messages())).toEqual([])
  expect(env.clock.pending).toBe(0)
  return ends[0] as EventOf<'run-end'>
}

const hard: [Stop][] = [['abort'], ['cancel'], ['leave']]
const first = () => obedient('Desk')
const tree = () => setSubAgents(obedient('Desk'), [obedient('Leaf')])
const steps = () => sequential({ name: 'Steps', agents: [obedient('One'), obedient('Two')] })
const rounds = () => loop({ name: 'Rounds', agents: [obedient('One')], maxIterations: 3 })

describe('a run that is stopped between two agents is cancelled, not complete', () => {
  const outcome = 'cancelled'

  test.each(hard)('%s before the first', async (how) => {
    expect(await stopped('hi', first(), 'Desk run-start', how)).toMatchObject({ outcome })
  })

  test.each(hard)('%s on a transfer', async (how) => {
    expect(await stopped('to:Leaf hi', tree(), 'Desk agent-end', how)).toMatchObject({ outcome })
  })

  test.each(hard)('%s between the steps of a sequence', async (how) => {
    expect(await stopped('hi', steps(), 'One agent-end', how)).toMatchObject({ outcome })
  })

  test.each(hard)('%s between two rounds of a loop', async (how) => {
    expect(await stopped('hi', rounds(), 'One agent-end', how)).toMatchObject({ outcome })
  })
})

describe('a run whose time is over between two agents has failed', () => {
  const failed = { outcome: 'failed', error: { code: 'TIMEOUT' } }

  test('before the first', async () => {
    expect(await stopped('hi', first(), 'Desk run-start', 'timeout')).toMatchObject(failed)
  })

  test('on a transfer', async () => {
    expect(await stopped('to:Leaf hi', tree(), 'Desk agent-end', 'timeout')).toMatchObject(failed)
  })

  test('between the steps of a sequence', async () => {
    expect(await stopped('hi', steps(), 'One agent-end', 'timeout')).toMatchObject(failed)
  })
})

describe('a soft cancel between two agents ends the run as cancelled', () => {
  const cancelled = { outcome: 'cancelled', error: { code: 'ABORTED' } }

  test('on a transfer', async () => {
    expect(await stopped('to:Leaf hi', tree(), 'Desk agent-end', 'after-tools')).toMatchObject(cancelled)
  })

  test('between the steps of a sequence', async () => {
    expect(await stopped('hi', steps(), 'One agent-end', 'after-tools')).toMatchObject(cancelled)
  })
})
