import type { Agent, Json } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { asking, type RecordedRun, runToEnd, talker } from '../flow.fixture.ts'
import { agentWithOptions, loop, parallel, sequential, setSubAgents } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'

const asker = () => scriptedAgent('a', [['ask'], 'Heard.'], asking())
const made: readonly (readonly [string, () => Agent])[] = [
  ['sequential', () => sequential({ name: 'w', agents: [talker('x'), asker()] })],
  ['loop', () => loop({ name: 'w', agents: [talker('x'), asker()], maxIterations: 2 })],
  ['parallel', () => parallel({ name: 'w', agents: [talker('x'), asker()] })],
  ['a tree', () => setSubAgents(scriptedAgent('w', [transfer('a')]), [asker()])],
  ['a tree around a workflow', () => agentWithOptions(sequential({ name: 'w', agents: [talker('x'), asker()] }), {})],
]
const resumed = (agent: Agent, first: RecordedRun, state: Json) =>
  runToEnd(agent, { ...first.resume({ ask: 'yes' }), state }, { runId: 'R2' })
const stateOf = (first: RecordedRun) => first.resume().state as { readonly [key: string]: Json }

describe('the state of a suspended agent', () => {
  test.each(made)('of %s is JSON that says its format', async (_, make) => {
    const state = stateOf(await runToEnd(make()))
    expect(state).toMatchObject({ format: 1 })
    expect(JSON.parse(JSON.stringify(state))).toEqual(state)
  })

  test.each(made)('of %s does not contain messages: the history is given again', async (_, make) => {
    const text = JSON.stringify(stateOf(await runToEnd(make())))
    expect(text).not.toContain('I am x.')
    expect(text).not.toContain('Hello')
  })
})

describe('nonsense is CHECKPOINT_INVALID, and no agent runs', () => {
  const nonsense: readonly Json[] = [
    null,
    0,
    'x',
    [],
    {},
    { format: 2 },
    { format: 1 },
    { format: 1, kind: 'other', state: {} },
  ]
  const refused = async (make: () => Agent, state: Json) => {
    const { end, errors, said } = await resumed(make(), await runToEnd(make()), state)
    return [end?.outcome, errors.map(({ code }) => code), said]
  }
  const invalid = ['failed', ['CHECKPOINT_INVALID'], []]

  test.each(made)('of %s', async (_, make) => {
    for (const state of nonsense) expect(await refused(make, state), JSON.stringify(state)).toEqual(invalid)
  })

  test('a tree: an agent that is not there any more', async () => {
    const [, make] = made[3] as (typeof made)[number]
    const state = { ...stateOf(await runToEnd(make())), agent: 'gone' }
    expect(await refused(make, state)).toEqual(invalid)
  })

  test('a sequence whose agents have changed places', async () => {
    const first = await runToEnd(sequential({ name: 'w', agents: [talker('x'), asker()] }))
    const { errors } = await resumed(sequential({ name: 'w', agents: [asker(), talker('x')] }), first, stateOf(first))
    expect(errors).toMatchObject([{ code: 'CHECKPOINT_INVALID' }])
  })

  test.each<[string, Json]>([
    ['a path that is invalid', { path: 'lead' }],
    ['a hop that is invalid', { hop: 'x' }],
    ['no agent', { agent: null }],
  ])('a tree with %s', async (_, change) => {
    const [, make] = made[3] as (typeof made)[number]
    const state = { ...stateOf(await runToEnd(make())), ...(change as object) }
    expect(await refused(make, state)).toEqual(invalid)
  })

  test.each<[string, number, Json]>([
    ['sequential at a place it does not have', 0, { index: 9, inner: null }],
    ['sequential at no place', 0, {}],
    ['sequential with null', 0, null],
    ['loop in a round it does not have', 1, { iteration: 9, inner: { index: 1, inner: null } }],
    ['loop in no round', 1, { iteration: 'x', inner: null }],
    ['loop with a list', 1, []],
    ['parallel with no list', 2, { a: 1 }],
    ['parallel with other branches', 2, [{ done: true, said: [], calls: [], open: 0 }]],
    ['parallel with branches that are none', 2, [1, null]],
  ])('%s', async (_, index, inside) => {
    const [kind, make] = made[index] as (typeof made)[number]
    expect(await refused(make, { format: 1, kind, state: inside })).toEqual(invalid)
  })

  test('of an agent inside is its own affair', async () => {
    const first = await runToEnd(sequential({ name: 'w', agents: [asker()] }))
    const state = JSON.parse(JSON.stringify(stateOf(first)).replace('"format":1,"agent"', '"format":7,"agent"'))
    expect((await resumed(sequential({ name: 'w', agents: [asker()] }), first, state)).errors).toMatchObject([
      { code: 'CHECKPOINT_INVALID' },
    ])
  })
})
