import { type Agent, contextKey, say, stream } from '@troupe/kernel'
import { pipe } from '@troupe/kernel/kit'
import { observe } from '@troupe/kernel/run'
import { describe, expect, test } from 'vitest'
import { runToEnd, talker, thrownBy, transferring } from '../flow.fixture.ts'
import { agentTool, sequential, sessionOf, setSubAgents } from '../index.ts'

describe('a custom agent that runs another one inside', () => {
  const inner = transferring('inner', 'T')
  const wrap: Agent = {
    name: 'wrap',
    description: '',
    acceptsAdditions: true,
    run: (input, ctx) =>
      stream(async (sink) => {
        await pipe(
          observe(inner, input, ctx.derive({ step: 'inner', runPath: [...ctx.runPath, 'wrap'] })),
          sink as never,
        )
        await pipe(say(ctx, 'wrapped'), sink)
      }),
  }

  test('is not steered by what that one wants', async () => {
    const { turns, end } = await runToEnd(setSubAgents(wrap, [talker('T')]))
    expect([turns, end?.text]).toEqual([['wrap', 'wrap/inner'], 'wrapped'])
  })
})

describe('a circle through a workflow', () => {
  test('is CONFIG_INVALID where it is closed', () => {
    const a = setSubAgents(talker('a'), [talker('b')])
    const steps = sequential({ name: 'steps', agents: [a] })
    expect(thrownBy(() => setSubAgents(a, [steps]))).toMatch(/^CONFIG_INVALID /)
  })

  test('and so is a part that belongs to a tree, or the other way round', () => {
    const child = setSubAgents(talker('child'), [])
    setSubAgents(talker('parent'), [child])
    expect(thrownBy(() => sequential({ name: 'steps', agents: [child] }))).toMatch(/^CONFIG_INVALID .*parent/)
    const part = setSubAgents(talker('part'), [])
    sequential({ name: 'steps', agents: [part] })
    expect(thrownBy(() => setSubAgents(talker('parent'), [part]))).toMatch(/^CONFIG_INVALID .*workflow/)
  })
})

test('an agent used as a tool has no part in the session around it', async () => {
  const KEY = contextKey<string>('key')
  const seen: unknown[] = []
  const plain: Agent = {
    name: 'plain',
    description: '',
    run(_, ctx) {
      seen.push(sessionOf(ctx))
      return say(ctx, 'done')
    },
  }
  const tool = agentTool(plain)
  const lead: Agent = {
    name: 'lead',
    description: '',
    async *run(_, ctx) {
      sessionOf(ctx)?.set(KEY, 'secret')
      const call = { callId: 'c1', onAction: () => undefined, onInterrupt: () => undefined }
      const input = { name: 'plain', arguments: '{"request":"x"}', callId: 'c1', step: '', idempotencyKey: '' }
      await tool.invoke?.({ request: 'x' }, ctx.derive({ step: 'tool:0:0', call }), input)
      yield* say(ctx, sessionOf(ctx)?.get(KEY) ?? '')
    },
  }
  const { end } = await runToEnd(setSubAgents(lead, []))
  expect([seen, end?.text]).toEqual([[undefined], 'secret'])
})
