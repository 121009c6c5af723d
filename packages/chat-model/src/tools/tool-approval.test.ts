import type { Json, Tool } from '@troupe/kernel'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  brief,
  calling,
  conversation,
  type FinishedRun,
  noUnhandledRejection,
  runAgent,
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

  test('is asked for every call of the turn before any of them starts', async () => {
    const log: string[] = []
    const ask = (name: string) => ({ needsApproval: () => log.push(`ask ${name}`) < 0 })
    const tools = ['a', 'b', 'c'].map((name) => tool(name, () => `${log.push(`run ${name}`)}`, ask(name)))
    await conversation([calling('a', 'b', 'c'), 'Done.'], { tools }).next()
    expect(log.slice(0, 3)).toEqual(['ask a', 'ask b', 'ask c'])
    expect(log.slice(3).toSorted()).toEqual(['run a', 'run b', 'run c'])
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

  test('that throws: the call fails and the tool does not run', async () => {
    const log: string[] = []
    const needsApproval = () => {
      throw new Error('policy is down')
    }
    const talk = conversation(turns, { tools: [guarded(log, { needsApproval })] })
    const { toolEnds } = await talk.next()
    expect([log, toolEnds.map(({ status }) => status)]).toEqual([[], ['failed']])
  })
})
