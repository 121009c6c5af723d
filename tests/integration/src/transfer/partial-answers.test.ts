import { chatModelAgent } from '@troupe/chat-model'
import { parallel, runner, setSubAgents } from '@troupe/flow'
import { type CancelMode, KernelError } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { messageLifecycle } from '@troupe/persistence'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { ANN, brief, type ScriptedTree, scriptedTree, toAgent } from './scripted-tree.fixture.ts'

const refused = new KernelError('MODEL_FAILED', 'm: bad request')
const text = ['Half ', 'an ', 'answer.']
const breaksOff = { text, error: { at: 'mid', error: refused } } as const
const waits = { text, hang: 'mid' } as const

/** One agent on a thread, which does something at its second piece of text. */
function alone(script: Parameters<typeof scriptedTree>[0][string], act?: (tree: ScriptedTree<'A'>) => unknown) {
  let pieces = 0
  const tree: ScriptedTree<'A'> = scriptedTree({ A: script }, ({ A }) => A, {
    onEvent: ({ type }) => type === 'text-delta' && ++pieces === 2 && void act?.(tree),
  })
  return tree
}
const cancel = (mode: CancelMode) => (tree: ScriptedTree<'A'>) => tree.runner.cancel(ANN, { mode })

describe('a thread keeps the partial answer', () => {
  test.each([
    ['failed', [breaksOff, 'Next.'], undefined],
    ['cancelled', [waits, 'Next.'], cancel('now')],
  ] as const)('of a run that has %s, and the next turn sends it to the model', async (outcome, script, act) => {
    const tree = alone(script, act)
    const first = await tree.ask('Hi')
    expect([first.outcome, first.text]).toEqual([outcome, 'Half an '])
    expect((await tree.history()).at(-1)).toMatchObject({ role: 'assistant', content: 'Half an ', partial: true })
    await tree.move()
    expect((await tree.ask('And?')).text).toBe('Next.')
    expect(brief(tree.models.A.requests[1]?.messages)).toEqual(['user Hi', 'assistant Half an ', 'user And?'])
  })

  test('of a run whose consumer has left', async () => {
    const tree = scriptedTree({ A: [waits, 'Next.'] }, ({ A }) => A)
    for await (const { type } of tree.runner.query('Hi', { session: ANN })) if (type === 'text-delta') break
    expect((await tree.history()).at(-1)).toMatchObject({ role: 'assistant', partial: true })
    expect((await tree.ask('And?')).outcome).toBe('complete')
  })

  test('of the agent that had the conversation, after a transfer', async () => {
    const tree = scriptedTree({ Router: [toAgent('A'), 'Router.'], A: [breaksOff] }, ({ Router, A }) =>
      setSubAgents(Router, [A]),
    )
    await tree.ask('Hi')
    expect((await tree.history()).at(-1)).toMatchObject({ agentName: 'A', content: 'Half an ', partial: true })
    expect((await tree.ask('And?')).text).toBe('Router.')
    expect(brief(tree.models.Router.requests[1]?.messages)).toContain('user For context: [A] said: Half an .')
  })

  test('of every branch that a failing one has stopped, in listed order', async () => {
    const tree = scriptedTree({ A: [waits], B: [{ ...breaksOff, text: ['Broken ', 'off', '.'] }] }, ({ A, B }) =>
      parallel({ name: 'Both', agents: [A, B] }),
    )
    const { outcome } = await tree.ask('Hi')
    expect([outcome, brief(await tree.history())]).toEqual([
      'failed',
      ['user Hi', 'assistant Half an ', 'assistant Broken off'],
    ])
  })

  test('of a tolerated branch, whose text is not that of the run', async () => {
    const tree = scriptedTree({ A: ['A.'], B: [breaksOff] }, ({ A, B }) =>
      parallel({ name: 'Both', agents: [A, B], onError: 'continue' }),
    )
    const { outcome, text: said } = await tree.ask('Hi')
    expect([outcome, said]).toEqual(['complete', 'A.'])
    expect(brief(await tree.history())).toEqual(['user Hi', 'assistant A.', 'assistant Half an '])
  })

  test.each(['after-model', 'after-tools'] as const)(
    'not of a run with the soft cancel %s: its answer is whole',
    async (mode) => {
      const tree = alone([{ text }], cancel(mode))
      await tree.ask('Hi')
      expect((await tree.history()).at(-1)).toEqual(expect.objectContaining({ content: 'Half an answer.' }))
      expect((await tree.history()).at(-1)).not.toHaveProperty('partial')
    },
  )
})

test('the record of a run has the same text as its thread', async () => {
  const store = memoryStore()
  const lifecycle = messageLifecycle({ store })
  const agent = chatModelAgent({ name: 'A', model: scriptedModel([breaksOff]), retry: false })
  const { run } = runner({ agent, store, callbacks: [lifecycle] })
  await expect(Promise.resolve(run('Hi', { session: ANN }))).rejects.toBe(refused)
  await lifecycle.flush()
  const [record] = await store.records.runs(ANN)
  const messages = (await store.threads.messages(ANN)).map(({ message }) => message)
  expect([record?.status, record?.text]).toEqual(['failed', 'Half an '])
  expect(messages.at(-1)).toMatchObject({ content: 'Half an ', partial: true })
})
