import type { AgentHandler, Json, Tool } from '@troupe/kernel'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  brief,
  calling,
  conversation,
  type FinishedRun,
  noUnhandledRejection,
  runAgent,
  streaming,
  tool,
} from '../chat-model.fixture.ts'

beforeEach(noUnhandledRejection)

describe('needsApproval', () => {
  const guarded = (log: string[], more: Partial<Tool> = {}) =>
    tool('guarded', (args) => `ran ${log.push(JSON.stringify(args))}`, { needsApproval: () => true, ...more })
  const turns = [{ toolCalls: [{ id: 'g', name: 'guarded', arguments: { n: 1 } }] }, 'Done.']
  const questions = ({ end }: FinishedRun) => end?.interrupts?.map(({ id }) => id) ?? []

  test('raises one interrupt of reason approval, before the tool runs', async () => {
    const log: string[] = []
    const talk = conversation(turns, { tools: [guarded(log)] })
    const { end, events } = await talk.next()
    expect(end).toMatchObject({
      outcome: 'interrupted',
      interrupts: [{ reason: 'approval', callId: 'g', agentName: 'a', id: expect.stringMatching(/^g#/) }],
    })
    expect(events.filter(({ type }) => type === 'action')).toHaveLength(1)
    expect(log).toEqual([])
  })

  test('approved: the tool runs once, the model goes on, and no call starts twice', async () => {
    const log: string[] = []
    const talk = conversation(turns, { tools: [guarded(log)] })
    const [id = ''] = questions(await talk.next())
    const { end, toolEnds } = await talk.next({ [id]: { approved: true } })
    expect([log, end?.text, toolEnds.map(({ callId }) => callId)]).toEqual([['{"n":1}'], 'Done.', ['g']])
    expect(talk.started()).toEqual(['g'])
  })

  test('approved with edited arguments: the tool gets those', async () => {
    const log: string[] = []
    const talk = conversation(turns, { tools: [guarded(log)] })
    const [id = ''] = questions(await talk.next())
    await talk.next({ [id]: { approved: true, arguments: '{"n":2}' } })
    expect(log).toEqual(['{"n":2}'])
  })

  test('approved with edited arguments that are not valid: a validation error, and the tool does not run', async () => {
    const log: string[] = []
    const talk = conversation(turns, { tools: [guarded(log)] })
    const [id = ''] = questions(await talk.next())
    const { toolEnds } = await talk.next({ [id]: { approved: true, arguments: '{"n"' } })
    expect([log, toolEnds[0]?.error?.code]).toEqual([[], 'VALIDATION_FAILED'])
  })

  test('refused: the model sees the reason, and the tool does not run', async () => {
    const log: string[] = []
    const talk = conversation(turns, { tools: [guarded(log)] })
    const [id = ''] = questions(await talk.next())
    const { toolEnds, end } = await talk.next({ [id]: { approved: false, message: 'Too dear.' } })
    expect(toolEnds).toMatchObject([
      { status: 'failed', error: { code: 'TOOL_REFUSED' }, content: expect.stringContaining('Too dear.') },
    ])
    expect([log, end?.text]).toEqual([[], 'Done.'])
  })

  const invalid: readonly Json[] = [true, 'yes', 1, {}, { approved: 'yes' }, { approved: 1 }, null, []]
  test.each(invalid.map((answer) => [JSON.stringify(answer), answer] as const))(
    'an answer that is invalid (%s) does not run the tool',
    async (_, answer) => {
      const log: string[] = []
      const talk = conversation(turns, { tools: [guarded(log)] })
      const [id = ''] = questions(await talk.next())
      await talk.next({ [id]: answer })
      expect(log).toEqual([])
    },
  )

  test('is decided last, on the arguments that the tool would get: a handler that rewrites or repairs them cannot pass it', async () => {
    const needsApproval = (args: unknown) => (args as { n: number }).n > 100
    const rewriting = (to: string): AgentHandler => ({
      name: 'rewrite',
      wrapInvokableToolCall: (ctx, input, next) => next(ctx, { ...input, arguments: to }),
    })
    const cases: readonly [said: readonly string[], to: string, asks: boolean][] = [
      [['{"n":5}'], '{"n":5000}', true],
      [['{"n":'], '{"n":5000}', true],
      [['{"n":5000}'], '{"n":5}', false],
    ]
    for (const [said, to, asks] of cases) {
      const log: string[] = []
      const toolCalls = [{ id: 'g', name: 'guarded', arguments: said }]
      const talk = conversation([{ toolCalls }, 'Done.'], {
        tools: [guarded(log, { needsApproval })],
        handlers: [rewriting(to)],
      })
      const first = await talk.next()
      expect([first.end?.outcome, log]).toEqual(asks ? ['interrupted', []] : ['complete', [to]])
      if (!asks) continue
      expect(first.end?.interrupts?.[0]?.metadata).toEqual({ tool: 'guarded', arguments: to })
      const [id = ''] = questions(first)
      await talk.next({ [id]: { approved: true } })
      expect([log, talk.started()]).toEqual([[to], ['g']])
    }
  })

  test('an approval is for the arguments that were shown: if they change before it comes, a person is asked again', async () => {
    const log: string[] = []
    let to = '{"n":5}'
    const rewrite: AgentHandler = {
      name: 'rewrite',
      wrapInvokableToolCall: (ctx, input, next) => next(ctx, { ...input, arguments: to }),
    }
    const talk = conversation(turns, { tools: [guarded(log)], handlers: [rewrite] })
    const first = await talk.next()
    to = '{"n":5000}'
    const [id = ''] = questions(first)
    const second = await talk.next({ [id]: { approved: true } })
    expect([second.end?.outcome, log]).toEqual(['interrupted', []])
    expect(second.end?.interrupts?.[0]?.metadata).toMatchObject({ arguments: to })
    const [again = ''] = questions(second)
    await talk.next({ [again]: { approved: true } })
    expect(log).toEqual([to])
  })

  test('a wrap that calls the tool several times needs one approval for the same arguments, and others for others', async () => {
    const log: string[] = []
    const twice: AgentHandler = {
      name: 'twice',
      async wrapInvokableToolCall(ctx, input, next) {
        await next(ctx, input)
        await next(ctx, input)
        return next(ctx, { ...input, arguments: '{"n":2}' })
      },
    }
    const talk = conversation(turns, { tools: [guarded(log)], handlers: [twice] })
    const [one = ''] = questions(await talk.next())
    const second = await talk.next({ [one]: { approved: true } })
    expect(second.end?.interrupts?.map(({ metadata }) => metadata?.arguments)).toEqual(['{"n":2}'])
    const [two = ''] = questions(second)
    const third = await talk.next({ [two]: { approved: true } })
    expect([third.end?.outcome, log.slice(-3)]).toEqual(['complete', ['{"n":1}', '{"n":1}', '{"n":2}']])
  })

  test('a tool that a wrap puts in is asked for too', async () => {
    const log: string[] = []
    const swap: AgentHandler = {
      name: 'swap',
      wrapInvokableToolCall: (ctx, input, next) => next(ctx, { ...input, tool: guarded(log) }),
    }
    const talk = conversation([calling('plain'), 'Done.'], { tools: [tool('plain')], handlers: [swap] })
    const first = await talk.next()
    expect([first.end?.outcome, log]).toEqual(['interrupted', []])
    const [id = ''] = questions(first)
    await talk.next({ [id]: { approved: true } })
    expect(log).toHaveLength(1)
  })

  test('an approval is for one tool: another one that a wrap puts in with the same arguments is asked for itself', async () => {
    const log: string[] = []
    const other = tool('other', () => `ran ${log.push('other')}`, { needsApproval: () => true })
    const both: AgentHandler = {
      name: 'both',
      async wrapInvokableToolCall(ctx, input, next) {
        await next(ctx, input)
        return next(ctx, { ...input, tool: other })
      },
    }
    const talk = conversation(turns, { tools: [guarded(log)], handlers: [both] })
    const [one = ''] = questions(await talk.next())
    const second = await talk.next({ [one]: { approved: true } })
    expect([second.end?.outcome, log]).toEqual(['interrupted', ['{"n":1}']])
    expect(second.end?.interrupts?.map(({ metadata }) => metadata?.tool)).toEqual(['other'])
    const [two = ''] = questions(second)
    await talk.next({ [two]: { approved: true } })
    expect(log).toEqual(['{"n":1}', '{"n":1}', 'other'])
  })

  test('a streaming tool waits for its approval, and starts when it has it', async () => {
    const talk = conversation([calling('s'), 'Done.'], {
      tools: [streaming('s', ['a', 'b'], { needsApproval: () => true })],
    })
    const first = await talk.next()
    expect([first.end?.outcome, first.started]).toEqual(['interrupted', []])
    const [id = ''] = questions(first)
    const second = await talk.next({ [id]: { approved: true } })
    expect([second.toolEnds[0]?.content, second.started]).toEqual(['ab', ['s']])
  })

  test('gets validated arguments; a call with invalid ones is answered without asking', async () => {
    const asked: unknown[] = []
    const log: string[] = []
    const needsApproval = (args: unknown) => asked.push(args) > 0
    const parameters = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const toolCalls = [
      { id: 'ok', name: 'guarded', arguments: { n: 1 } },
      { id: 'bad', name: 'guarded', arguments: { n: 'x' } },
    ]
    const talk = conversation([{ toolCalls }, 'Done.'], { tools: [guarded(log, { needsApproval, parameters })] })
    const { end, toolEnds } = await talk.next()
    expect(asked).toEqual([{ n: 1 }])
    expect(end?.interrupts?.map(({ callId }) => callId)).toEqual(['ok'])
    expect(toolEnds).toMatchObject([{ callId: 'bad', error: { code: 'VALIDATION_FAILED' } }])
  })

  test('siblings finish in the first run and are not repeated on resume', async () => {
    const log: string[] = []
    const plain = tool('plain', () => `ran ${log.push('plain')}`)
    const talk = conversation([calling('guarded', 'plain'), 'Done.'], { tools: [guarded(log), plain] })
    const first = await talk.next()
    expect(first.toolEnds.map(({ callId }) => callId)).toEqual(['plain'])
    const [id = ''] = questions(first)
    const second = await talk.next({ [id]: { approved: true } })
    expect(second.toolEnds.map(({ callId }) => callId)).toEqual(['guarded'])
    expect(log).toEqual(['plain', '{}'])
    expect(talk.started().toSorted()).toEqual(['guarded', 'plain'])
    expect(brief(talk.model.requests[1]?.messages).slice(2)).toEqual(['tool ran 2', 'tool ran 1'])
  })

  test('unanswered questions are raised again; every call runs once in the end', async () => {
    const log: string[] = []
    const toolCalls = [1, 2].map((n) => ({ id: `g${n}`, name: 'guarded', arguments: { n } }))
    const talk = conversation([{ toolCalls }, 'Done.'], { tools: [guarded(log)] })
    const [one = '', two = ''] = questions(await talk.next())
    const second = await talk.next({ [two]: { approved: true } })
    expect([second.end?.outcome, questions(second)]).toEqual(['interrupted', [one]])
    const third = await talk.next({ [one]: { approved: true } })
    expect([third.end?.text, log.toSorted()]).toEqual(['Done.', ['{"n":1}', '{"n":2}']])
    expect(talk.started().toSorted()).toEqual(['g1', 'g2'])
  })

  test('in a run that cannot interrupt, the call fails and the tool does not run', async () => {
    const log: string[] = []
    const { toolEnds, end } = await runAgent(turns, { tools: [guarded(log)] })
    expect(toolEnds).toMatchObject([{ status: 'failed', error: { code: 'CONFIG_INVALID' } }])
    expect([log, end?.text]).toEqual([[], 'Done.'])
  })

  test('that throws or does not decide: a person is asked', async () => {
    const throwing = () => {
      throw new Error('policy is down')
    }
    for (const needsApproval of [throwing, async () => throwing(), () => undefined as never, () => 'no' as never]) {
      const log: string[] = []
      const talk = conversation(turns, { tools: [guarded(log, { needsApproval })] })
      const first = await talk.next()
      expect([first.end?.outcome, log]).toEqual(['interrupted', []])
      const [id = ''] = questions(first)
      await talk.next({ [id]: { approved: true } })
      expect(log).toHaveLength(1)
    }
  })
})
