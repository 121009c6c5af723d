import { type AgentHandler, type InvokeTool, KernelError, type Part, type Tool } from '@troupe/kernel'
import { runNested, startRun } from '@troupe/kernel/run'
import { fakeClock, record, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { brief, calling, hello, idle, never, runAgent, tool, user } from './chat-model.fixture.ts'
import { chatModelAgent } from './index.ts'

const can = { canInterrupt: true }

describe('4: after-hooks, where the last message decides', () => {
  test('calls of an answer that a hook has taken away are not run', async () => {
    const handler: AgentHandler = { name: 'h', afterModelRewriteHistory: (_ctx, messages) => messages.slice(0, -1) }
    const ran: string[] = []
    const finished = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t', () => String(ran.push('t')))],
      handlers: [handler],
    })
    expect(ran).toEqual([])
    expect(finished.toolEnds).toMatchObject([{ callId: 't', status: 'dropped' }])
  })

  test('a user message at the end asks the model again, with every call answered', async () => {
    const handler: AgentHandler = {
      name: 'h',
      afterModelRewriteHistory: (_ctx, messages) =>
        messages.length === 2 ? [...messages, user('Wait.', 'w')] : messages,
    }
    const { requests, end } = await runAgent([calling('t'), 'Done.'], { tools: [tool('t')], handlers: [handler] })
    expect(brief(requests[1]?.messages)).toEqual([
      'user Hello',
      'assistant t',
      expect.stringMatching(/^tool /),
      'user Wait.',
    ])
    expect(end?.text).toBe('Done.')
  })

  test('a message put in the place of a longer history is written whole', async () => {
    const handler: AgentHandler = {
      name: 'h',
      afterModelRewriteHistory: (_ctx, messages) => [
        messages[0] ?? user(),
        { id: 'new', role: 'assistant', content: 'Mine.' },
      ],
    }
    const input = { messages: [user('A', 'u1'), user('B', 'u2'), user('C', 'u3')] }
    const { story, end } = await runAgent(['Theirs.'], { handlers: [handler] }, input)
    expect(story).toEqual(
      expect.arrayContaining(['message-end dropped "Theirs."', 'text-delta "Mine."', 'message-end "Mine."']),
    )
    expect(end?.text).toBe('Mine.')
  })

  test('the tokens of an answer count, also where an after-hook throws', async () => {
    const handler: AgentHandler = {
      name: 'h',
      afterModelRewriteHistory: () => {
        throw new Error('no')
      },
    }
    const { end } = await runAgent([{ text: 'Hi', usage: { inputTokens: 5, outputTokens: 7 } }], {
      handlers: [handler],
    })
    expect(end?.usage).toEqual({ inputTokens: 5, outputTokens: 7 })
  })
})

describe('6: wraps', () => {
  const streaming: Tool = {
    ...tool('s'),
    async *stream() {
      yield 'a'
      yield 'b'
    },
  }

  test.each(['at the end', 'midway'])(
    'a stream of a wrap that fails %s ends the run and names the handler',
    async (moment) => {
      const handler: AgentHandler = {
        name: 'odd',
        async wrapStreamableToolCall(ctx, input, next) {
          const call = await next(ctx, input)
          const chunks = async function* (): AsyncGenerator<string | Part> {
            for await (const chunk of call.stream) {
              yield chunk
              if (moment === 'midway') throw new Error('boom')
            }
            throw new Error('boom')
          }
          return { stream: chunks(), result: call.result }
        },
      }
      const { errors, end } = await runAgent([calling('s'), 'Done.'], { tools: [streaming], handlers: [handler] })
      expect(end?.outcome).toBe('failed')
      expect(errors).toMatchObject([
        { code: 'HANDLER_FAILED', details: { handler: 'odd', hook: 'wrapStreamableToolCall' } },
      ])
    },
  )

  test("a model's own error passes a wrap that has nothing to do with it", async () => {
    const handler: AgentHandler = { name: 'innocent', wrapModelCall: (ctx, request, next) => next(ctx, request) }
    const error = new KernelError('VENDOR_QUOTA', 'quota', { details: { left: 0 } })
    const { errors } = await runAgent([{ error: { at: 'before', error } }], { handlers: [handler] })
    expect(errors).toEqual([{ code: 'VENDOR_QUOTA', message: 'quota', details: { left: 0 } }])
  })

  test('a thrown error of a tool that says throw ends the run also when it comes out of a journal', async () => {
    const failing = tool(
      't',
      () => {
        throw new Error('boom')
      },
      { onError: 'throw' },
    )
    const journal: AgentHandler = {
      name: 'journal',
      wrapInvokableToolCall: async (ctx, input, next) => JSON.parse(JSON.stringify(await next(ctx, input))),
    }
    expect((await runAgent([calling('t')], { tools: [failing], handlers: [journal] })).end?.outcome).toBe('failed')
  })

  test('an error that a handler answers with does not end the run of such a tool', async () => {
    const refusing: AgentHandler = {
      name: 'refusing',
      wrapInvokableToolCall: async () => ({ content: 'No.', error: { code: 'TOOL_REFUSED', message: 'No.' } }),
    }
    const { end } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t', undefined, { onError: 'throw' })],
      handlers: [refusing],
    })
    expect(end).toMatchObject({ outcome: 'complete', text: 'Done.' })
  })
})

describe('13: approval', () => {
  const guarded = (needs: () => boolean, ran: string[]) =>
    tool('pay', (args) => `${ran.push(JSON.stringify(args))}`, { needsApproval: needs })

  test('an approval that was asked for counts, even if the tool would not ask again', async () => {
    const ran: string[] = []
    let asks = true
    const tools = [guarded(() => asks, ran)]
    const first = await runAgent([calling('pay')], { tools }, undefined, can)
    asks = false
    const second = await runAgent(['Done.'], { tools }, first.resume({ pay: { approved: false } }), {
      ...can,
      runId: 'R2',
    })
    expect([ran, second.toolEnds]).toMatchObject([[], [{ status: 'failed', error: { code: 'TOOL_REFUSED' } }]])
  })

  test('arguments edited as an object are used', async () => {
    const ran: string[] = []
    const tools = [guarded(() => true, ran)]
    const first = await runAgent([calling('pay')], { tools }, undefined, can)
    const answers = { pay: { approved: true, arguments: { n: 2 } } }
    await runAgent(['Done.'], { tools }, first.resume(answers), { ...can, runId: 'R2' })
    expect(ran).toEqual(['{"n":2}'])
  })

  test('one approval is for one call, also where nested agents use the same call ids', async () => {
    const ran: string[] = []
    const inner = (name: string) =>
      chatModelAgent({
        name,
        model: scriptedModel([{ toolCalls: [{ id: 'c1', name: 'pay' }] }, 'Paid.'], { repeat: true }),
        tools: [tool('pay', () => `${ran.push(name)}`, { needsApproval: () => true })],
      })
    const [a, b] = [inner('A'), inner('B')]
    const delegate = (name: string, agent: typeof a) =>
      tool(name, async (_args, ctx) => (await runNested(agent, hello, ctx)).text, { effect: 'nested' })
    const tools = [delegate('toA', a), delegate('toB', b)]
    const first = await runAgent([calling('toA', 'toB')], { tools }, undefined, can)
    const ids = first.end?.interrupts?.map(({ id }) => id)
    expect(ids).toEqual([expect.stringMatching(/^toA\/c1#/), expect.stringMatching(/^toB\/c1#/)])
    const second = await runAgent(['Done.'], { tools }, first.resume({ toA: { approved: true } }), {
      ...can,
      runId: 'R2',
    })
    expect(ran).toEqual(['A'])
    expect(second.end?.interrupts?.map(({ id }) => id)).toEqual([ids?.[1]])
  })

  test('a soft cancel of a resumed run answers no finished call again', async () => {
    const asking = tool('ask', async (_args, ctx) => String(await ctx.interrupt({ reason: 'input' })))
    const tools = [tool('t'), asking]
    const first = await runAgent([calling('t', 'ask')], { tools }, undefined, can)
    const cancelling = () => 'after-model' as const
    const second = await runAgent([], { tools }, first.resume({ ask: 'x' }), { ...can, runId: 'R2', cancelling })
    expect(second.toolEnds.map(({ callId }) => callId)).toEqual(['ask'])
    expect(second.end?.outcome).toBe('cancelled')
  })
})

describe('limits', () => {
  test('a tool that streams for ever writes nothing after its tool-end', async () => {
    const clock = fakeClock()
    const endless: Tool = {
      ...tool('s'),
      async *stream() {
        for (;;) {
          yield 'x'
          await new Promise((resolve) => setImmediate(resolve))
        }
      },
    }
    const model = scriptedModel([calling('s'), calling('wait'), 'Done.'])
    const wait = tool('wait', async () => String(await idle()))
    const agent = chatModelAgent({ name: 'a', model, tools: [endless, wait], toolTimeoutMs: 50 })
    const reading = record(startRun(agent, hello, { clock }))
    await idle()
    clock.advance(50)
    await idle()
    const { events } = await reading
    const end = events.findIndex(({ type }) => type === 'tool-end')
    expect(events[end]).toMatchObject({ status: 'failed', error: { code: 'TIMEOUT' } })
    expect(events.slice(end).filter(({ type }) => type === 'tool-delta')).toEqual([])
  })

  test('a run that takes too long ends properly: its message is closed, and handlers see that it failed', async () => {
    const clock = fakeClock()
    const seen: string[] = []
    const handler: AgentHandler = {
      name: 'h',
      afterAgent: (_ctx, { outcome, error }) => void seen.push(`${outcome} ${error?.code}`),
    }
    const model = scriptedModel([{ text: ['Hel', 'lo'], hang: 'mid' }])
    const agent = chatModelAgent({ name: 'a', model, handlers: [handler], runTimeoutMs: 50 })
    const reading = record(startRun(agent, hello, { clock }))
    await idle()
    clock.advance(50)
    const { events, end } = await reading
    const ends = events.filter(({ type }) => type === 'message-end')
    expect(ends).toMatchObject([{ message: { content: 'Hel', partial: true } }])
    expect(end).toMatchObject({ outcome: 'failed', text: 'Hel', error: { code: 'TIMEOUT' } })
    expect(seen).toEqual(['failed TIMEOUT'])
    expect(clock.pending).toBe(0)
  })

  test('a run that takes too long ends also when its tool is deaf', async () => {
    const clock = fakeClock()
    const agent = chatModelAgent({
      name: 'a',
      model: scriptedModel([calling('deaf')]),
      tools: [tool('deaf', () => never)],
      runTimeoutMs: 50,
    })
    const reading = record(startRun(agent, hello, { clock }))
    await idle()
    clock.advance(50)
    await idle()
    clock.advance(1_000)
    expect((await reading).end).toMatchObject({ outcome: 'failed', error: { code: 'TIMEOUT' } })
  })
})

test('keys of calls are unique, also of runs without a thread', async () => {
  const keys: string[] = []
  const tools = [tool('t', (_args, _ctx, call) => `${keys.push(call.idempotencyKey)}`)]
  for (const runId of ['R1', 'R2']) await runAgent([calling('t'), 'Done.'], { tools }, undefined, { runId })
  expect(new Set(keys).size).toBe(2)
})

test("what a handler sets in its options is not the caller's", async () => {
  const handler: AgentHandler = {
    name: 'h',
    beforeAgent: (_ctx, config) => void Object.assign(config.runOptions, { maxIterations: 1 }),
  }
  const options = { maxIterations: 5 }
  await runAgent(['Hi'], { handlers: [handler] }, { ...hello, options })
  expect(options).toEqual({ maxIterations: 5 })
})

test('output and exit exclude each other', () => {
  const output = { type: 'object' } as const
  expect(() => chatModelAgent({ name: 'a', model: scriptedModel([]), output, exit: true })).toThrow(
    /exclude each other/,
  )
})

describe('Replayable: a step is a position', () => {
  test('model and tools of one turn share its number, also after a resume', async () => {
    const steps: string[] = []
    const note: AgentHandler = {
      name: 'note',
      wrapModelCall(ctx, request, next) {
        steps.push(request.step)
        return next(ctx, request)
      },
      wrapInvokableToolCall(ctx, input, next) {
        steps.push(input.step)
        return next(ctx, input)
      },
    }
    const asking = tool('ask', async (_args, ctx) => String(await ctx.interrupt({ reason: 'input' })))
    const options = { tools: [tool('t'), asking], handlers: [note] }
    const first = await runAgent([calling('t'), calling('ask')], options, undefined, can)
    expect(steps).toEqual(['model:0', 'tool:0:0', 'model:1', 'tool:1:0'])
    steps.length = 0
    await runAgent(['Done.'], options, first.resume({ ask: 'x' }), { ...can, runId: 'R2' })
    expect(steps).toEqual(['tool:1:0', 'model:2'])
  })
})

test('a legacy wrap is applied once, not with every call', async () => {
  let applied = 0
  const wrapToolCall = {
    invokable: (next: InvokeTool): InvokeTool => {
      applied++
      return next
    },
  }
  await runAgent([calling('t'), calling('t-2'), 'Done.'], {
    tools: [tool('t'), tool('t-2')],
    middlewares: [{ wrapToolCall }],
  })
  expect(applied).toBe(1)
})

test('an answer that cannot be read goes to the fallback', async () => {
  const broken = scriptedModel([{ parts: [{ type: 'tool-call-delta', callId: 'x', delta: '' }] }])
  const agent = chatModelAgent({ name: 'a', model: broken, fallbacks: [scriptedModel(['Hi.'])] })
  expect((await startRun(agent, hello)).text).toBe('Hi.')
})
