import { createBus, createPolicy } from '@troupe/subagent'
import { expect, test } from 'vitest'
import { agent, calling, completing, office, tool } from './office.fixture.ts'

const setting = (written: string[], options: Parameters<typeof createPolicy>[0]) =>
  office({
    agents: [agent('a', { tools: ['b', 'write'] }), agent('b', { tools: ['write'] })],
    tools: [tool('write', { kind: 'write', invoke: (_, __, { callId }) => `${written.push(callId)}` })],
    guard: createPolicy(options).guard,
    scripts: {
      lead: [calling('a'), 'Done.'],
      a: [calling('b'), completing('A')],
      b: [calling({ id: 'w', name: 'write' }), completing('B')],
    },
  })

test('questions of a policy about an agent and about its tools are answered one after the other, each in another process', async () => {
  const written: string[] = []
  const { ask, answer, move, models } = setting(written, { rules: [{ effect: 'ask', agent: 'a', tool: 'b' }] })
  let recording = await ask()
  const questions: number[] = []
  while (recording.end?.outcome === 'interrupted') {
    questions.push(recording.asked.length)
    expect(written).toEqual([])
    await move()
    recording = await answer(Object.fromEntries(recording.asked.map((id) => [id, { approved: true }])))
  }
  expect([questions, written, recording.end?.outcome]).toEqual([[1, 1], ['w'], 'complete'])
  expect(recording.statuses).toMatchObject([{ agent: 'a', reason: 'goal', turns: 2, toolCalls: 1, output: 'A' }])
  expect(['a', 'b'].map((name) => models[name]?.requests.length)).toEqual([2, 2])
})

test('a refused agent does not run, and its caller reads why', async () => {
  const written: string[] = []
  const { ask, answer, move, models } = setting(written, { rules: [{ effect: 'ask', agent: 'a', tool: 'b' }] })
  const { asked } = await ask()
  await move()
  const recording = await answer({ [asked[0] as string]: { approved: false, message: 'Not now.' } })
  expect([written, models.b?.requests, recording.statuses[0]?.reason]).toEqual([[], [], 'goal'])
  expect(models.a?.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'Not now.' })
})

test('a live listener answers while the agents wait, and nothing is interrupted', async () => {
  const written: string[] = []
  const bus = createBus()
  const asked: string[] = []
  bus.on('approval', ({ agent: path }) => {
    asked.push(path)
    return { approved: true }
  })
  const { ask } = setting(written, { bus })
  const { statuses, end } = await ask()
  expect([asked, written, end?.outcome, statuses[0]?.reason]).toEqual([['a/b'], ['w'], 'complete', 'goal'])
})
