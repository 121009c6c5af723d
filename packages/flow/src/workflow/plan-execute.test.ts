import { testAgent } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { failing, runToEnd, talker, textsOf, thrownBy, yielding } from '../flow.fixture.ts'
import { breakLoopTool, planExecute } from '../index.ts'
import { scriptedAgent } from '../scripted-agent.fixture.ts'

const respond = [{ name: 'respond', args: { response: 'Booked.' } }]
const travel = (maxIterations?: number) => {
  const planner = scriptedAgent('planner', ['1. fly 2. sleep'])
  const executor = scriptedAgent('executor', ['Flew.', 'Slept.', 'What?'])
  const replanner = scriptedAgent('replanner', ['2. sleep', respond], breakLoopTool() as never)
  const options = maxIterations === undefined ? {} : { maxIterations }
  return { executor, agent: planExecute({ name: 'travel', planner, executor, replanner, ...options }) }
}

testAgent('planExecute', () => travel().agent)

test('plans once, then carries out and plans anew until the replanner breaks the loop', async () => {
  const { agent, executor } = travel()
  const { turns, end } = await runToEnd(agent)
  const round = ['travel/travel-steps/executor', 'travel/travel-steps/replanner']
  expect(turns).toEqual(['travel', 'travel/planner', 'travel/travel-steps', ...round, ...round])
  expect([end?.outcome, end?.text]).toEqual(['complete', 'Booked.'])
  expect(textsOf(executor.inputs[1]?.messages ?? [])).toEqual([
    'user: Hello',
    'user: For context: [planner] said: 1. fly 2. sleep.',
    'executor: Flew.',
    'user: For context: [replanner] said: 2. sleep.',
  ])
})

describe('its end', () => {
  test('after maxIterations it is complete', async () => {
    expect((await runToEnd(travel(1).agent)).end).toMatchObject({ outcome: 'complete', text: '2. sleep' })
  })

  test('10 steps, unless said otherwise', async () => {
    const agents = { planner: talker('p'), executor: talker('e'), replanner: talker('r') }
    expect((await runToEnd(planExecute({ name: 'travel', ...agents }))).turns).toHaveLength(3 + 20)
  })

  test('an exit of the planner ends it before the first step', async () => {
    const planner = yielding('p', { type: 'exit', result: 'X' })
    const agent = planExecute({ name: 'travel', planner, executor: talker('e'), replanner: talker('r') })
    const { turns, end } = await runToEnd(agent)
    expect([turns, end?.output]).toEqual([['travel', 'travel/p'], 'X'])
  })

  test('a failing executor fails it', async () => {
    const agents = { planner: talker('p'), executor: failing('e'), replanner: talker('r') }
    const { errors, end } = await runToEnd(planExecute({ name: 'travel', ...agents }))
    expect([errors.length, end?.outcome]).toEqual([1, 'failed'])
  })
})

test('bad input is CONFIG_INVALID', () => {
  const agents = { planner: talker('p'), executor: talker('e'), replanner: talker('r') }
  expect(thrownBy(() => planExecute({ name: '', ...agents }))).toMatch(/^CONFIG_INVALID/)
  expect(thrownBy(() => planExecute({ name: 'x', ...agents, maxIterations: 0 }))).toMatch(/^CONFIG_INVALID/)
  expect(thrownBy(() => planExecute({ name: 'x', ...agents, executor: undefined as never }))).toMatch(/^CONFIG_INVALID/)
})

test('its description is its own', () => {
  const agents = { planner: talker('p'), executor: talker('e'), replanner: talker('r') }
  expect(planExecute({ name: 'x', description: 'Mine.', ...agents }).description).toBe('Mine.')
})
