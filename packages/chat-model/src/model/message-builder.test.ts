import type { AgentHandler, Callback, ModelPart } from '@troupe/kernel'
import { mapStream } from '@troupe/kernel/kit'
import { describe, expect, test } from 'vitest'
import { calling, hello, runAgent, tool, user } from '../chat-model.fixture.ts'

const finish: ModelPart = { type: 'finish', reason: 'tool-calls', usage: { inputTokens: 1, outputTokens: 1 } }
const signature = { vendor: { signature: 's1' } }

describe('what a vendor wants back comes back', () => {
  const parts: ModelPart[] = [
    { type: 'reasoning-delta', delta: '' },
    { type: 'part-end', encrypted: 'sealed', metadata: { vendor: { id: 'r1' } } },
    { type: 'text-delta', delta: 'One ' },
    { type: 'text-delta', delta: 'moment.' },
    { type: 'part-end', metadata: { vendor: { id: 't1' } } },
    { type: 'text-delta', delta: '' },
    { type: 'part-end' },
    { type: 'tool-call-start', callId: 'c1', name: 't' },
    { type: 'tool-call-delta', callId: 'c1', delta: '{}' },
    { type: 'tool-call-end', callId: 'c1', metadata: signature },
    finish,
  ]

  test('with its parts and its calls, in the next request', async () => {
    const { requests } = await runAgent([{ parts }, 'Done.'], { tools: [tool('t')] })
    expect(requests[1]?.messages[1]).toMatchObject({
      content: [
        { type: 'reasoning', text: '', encrypted: 'sealed', metadata: { vendor: { id: 'r1' } } },
        { type: 'text', text: 'One moment.', metadata: { vendor: { id: 't1' } } },
      ],
      toolCalls: [{ id: 'c1', name: 't', arguments: '{}', metadata: signature }],
    })
  })

  test('and an empty delta shows nothing', async () => {
    const { story } = await runAgent([{ parts }, 'Done.'], { tools: [tool('t')] })
    expect(story.filter((line) => line.includes('delta ""'))).toEqual([])
    expect(story).not.toContainEqual(expect.stringMatching(/^reasoning-delta/))
  })
})

test('a call that the model does not end is ended for it', async () => {
  const parts: ModelPart[] = [{ type: 'tool-call-start', callId: 'c1', name: 't' }, finish]
  const { story } = await runAgent([{ parts }, 'Done.'], { tools: [tool('t')] })
  expect(story).toContain('tool-call-end t()')
})

test('the id of a call in a message that a handler has dropped is still taken', async () => {
  const forget: AgentHandler = {
    name: 'forget',
    beforeModelRewriteHistory: (_ctx, messages) => messages.filter(({ id }) => id === 'u2' || id.startsWith('R')),
  }
  const old = { id: 'm', role: 'assistant', content: '', toolCalls: [{ id: 't', name: 't', arguments: '{}' }] } as const
  const result = { id: 'r', role: 'tool', callId: 't', name: 't', content: 'old' } as const
  const input = { messages: [user('Before.', 'u1'), old, result, user('Now.', 'u2')] }
  const { started } = await runAgent([calling('t'), 'Done.'], { tools: [tool('t')], handlers: [forget] }, input)
  expect(started).toHaveLength(1)
  expect(started).not.toContain('t')
})

test('a call that asks or is aborted ends its span as a value, one that a handler breaks as an error', async () => {
  const seen: string[] = []
  const callback: Callback = {
    name: 'spans',
    tool: {
      onEnd: ({ name }, { error }) => void seen.push(`${name} end ${error?.code}`),
      onError: ({ name }, { code }) => void seen.push(`${name} error ${code}`),
    },
  }
  const asking = tool('ask', async (_args, ctx) => String(await ctx.interrupt({ reason: 'input' })))
  const settings = { canInterrupt: true, callbacks: [callback] }
  await runAgent([calling('ask')], { tools: [asking] }, hello, settings)
  const breaking: AgentHandler = {
    name: 'breaking',
    wrapInvokableToolCall: () => {
      throw new Error('no')
    },
  }
  await runAgent([calling('t')], { tools: [tool('t')], handlers: [breaking] }, hello, settings)
  expect(seen).toEqual(['ask end INTERRUPTED', 't error HANDLER_FAILED'])
})

test('an answer whose finish a handler has dropped is MODEL_FAILED, and the message says so', async () => {
  const dropping: AgentHandler = {
    name: 'dropping',
    wrapModelCall: (ctx, request, next) =>
      mapStream(next(ctx, request), (part) => (part.type === 'finish' ? { type: 'part-end' } : part)),
  }
  const { errors } = await runAgent(['Hi.'], { handlers: [dropping] })
  const message = expect.stringContaining('a wrapModelCall handler dropped the finish part')
  expect(errors).toMatchObject([{ code: 'MODEL_FAILED', message }])
})
