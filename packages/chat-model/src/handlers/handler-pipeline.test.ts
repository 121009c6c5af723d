import {
  type AgentConfig,
  type Message,
  type RunContext,
  withAfterModelRewriteHistory,
  withBeforeAgent,
  withBeforeModelRewriteHistory,
  withInstruction,
  withInstructionFunc,
  withTools,
  withToolsFunc,
} from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { brief, calling, hello, runAgent, tool, user } from '../chat-model.fixture.ts'
import { chatModelAgent } from '../index.ts'

const note = (id: string, content: string): Message => ({ id, role: 'user', content })

describe('6.2 pipeline and conflicts', () => {
  const instructionOf = async (options: Parameters<typeof runAgent>[1]) =>
    (await runAgent(['Done.'], options)).requests[0]?.instruction

  test('instruction: each handler gets the previous text and may append, prepend or replace', async () => {
    expect(
      await instructionOf({
        instruction: 'Base.',
        handlers: [withInstruction('More.'), withInstructionFunc((_, text) => `First.\n${text}`)],
      }),
    ).toBe('First.\nBase.\n\nMore.')
    expect(
      await instructionOf({
        instruction: 'Base.',
        handlers: [withInstruction('Lost.'), withInstructionFunc(() => 'New.'), withInstruction('Kept.')],
      }),
    ).toBe('New.\n\nKept.')
  })

  test('legacy additionalInstruction is joined with one newline, other joins use a blank line', async () => {
    expect(
      await instructionOf({
        instruction: 'Base.',
        middlewares: [
          { additionalInstruction: 'One.' },
          { additionalInstruction: '' },
          { additionalInstruction: 'Two.' },
        ],
        handlers: [withInstruction('Three.')],
      }),
    ).toBe('Base.\nOne.\nTwo.\n\nThree.')
  })

  test('tools: withTools appends, in order', async () => {
    const { requests } = await runAgent(['Done.'], {
      tools: [tool('own')],
      middlewares: [{ additionalTools: [tool('legacy')] }],
      handlers: [withTools(tool('a'), tool('b')), withTools(tool('c'))],
    })
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['own', 'legacy', 'a', 'b', 'c'])
  })

  test('tools: withToolsFunc removes what an earlier handler has added', async () => {
    const { requests, toolEnds } = await runAgent([calling('toolA'), 'Done.'], {
      handlers: [
        withTools(tool('toolA'), tool('toolB')),
        withToolsFunc((_, tools) => tools.filter(({ tool }) => tool.name !== 'toolA')),
      ],
    })
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['toolB'])
    expect(toolEnds[0]).toMatchObject({ status: 'failed', error: { code: 'TOOL_UNKNOWN' } })
  })

  test('tools: withTools of a name that is taken ends the run, naming handler and hook', async () => {
    const { errors } = await runAgent(['Done.'], { tools: [tool('t')], handlers: [withTools(tool('t'))] })
    expect(errors).toMatchObject([{ code: 'CONFIG_INVALID', details: { handler: 'withTools', hook: 'beforeAgent' } }])
  })

  test('legacy tools get returnDirectly false, and a later handler may change that', async () => {
    const seen: unknown[] = []
    const { end, requests } = await runAgent([calling('t'), 'Done.'], {
      middlewares: [{ additionalTools: [tool('t')] }],
      handlers: [
        withToolsFunc((_, tools) => {
          seen.push(...tools.map(({ returnDirectly }) => returnDirectly))
          return tools.map((meta) => ({ ...meta, returnDirectly: true }))
        }),
      ],
    })
    expect([seen, end?.text, requests.length]).toEqual([[false], 't done', 1])
  })

  test.each([true, false])('returnDirectly: the later handler wins (%s)', async (last) => {
    const set = (returnDirectly: boolean) =>
      withToolsFunc((_, tools) => tools.map((meta) => ({ ...meta, returnDirectly })))
    const { end } = await runAgent([calling('t'), 'Done.'], { tools: [tool('t')], handlers: [set(!last), set(last)] })
    expect(end?.text).toBe(last ? 't done' : 'Done.')
  })

  test('messages: each handler gets what the previous one made, before and after the model', async () => {
    const seen: string[][] = []
    const add = (id: string) => (_: RunContext, messages: readonly Message[]) => {
      seen.push(messages.map((message) => message.id))
      return [...messages.slice(0, -1), note(id, id), ...messages.slice(-1)]
    }
    await runAgent(['Done.'], {
      middlewares: [
        {
          beforeChatModel(_ctx, state) {
            state.messages = [...state.messages, note('m', 'm')]
          },
        },
      ],
      handlers: [
        withBeforeModelRewriteHistory(add('b0')),
        withBeforeModelRewriteHistory(add('b1')),
        withAfterModelRewriteHistory(add('a0')),
        withAfterModelRewriteHistory(add('a1')),
      ],
    })
    const answer = expect.any(String)
    expect(seen).toEqual([
      ['u1', 'm'],
      ['u1', 'b0', 'm'],
      ['u1', 'b0', 'b1', 'm', answer],
      ['u1', 'b0', 'b1', 'm', 'a0', answer],
    ])
  })

  test('legacy beforeChatModel and afterChatModel may change the list in place', async () => {
    const { requests, end } = await runAgent(['Draft.'], {
      middlewares: [
        {
          beforeChatModel: (_, state) => void state.messages.push(note('n', 'Be kind.')),
          afterChatModel(_, state) {
            const last = state.messages.pop()
            if (last) state.messages.push({ ...last, content: 'Final.' })
          },
        },
      ],
    })
    expect([brief(requests[0]?.messages), end?.text]).toEqual([['user Hello', 'user Be kind.'], 'Final.'])
  })
})

describe('3.2 beforeAgent and its AgentConfig', () => {
  test('changes instruction, tools, input and options of this run', async () => {
    const { requests, errors } = await runAgent([calling('t'), calling('t'), 'Done.'], {
      handlers: [
        withBeforeAgent((_, config) => {
          config.instruction = 'Set.'
          config.tools = [{ tool: tool('t'), returnDirectly: false }]
          config.input = { messages: [user('Other', 'u2')] }
          config.runOptions = { ...config.runOptions, maxIterations: 2, model: { temperature: 0.5 } }
        }),
      ],
    })
    expect(requests[0]).toMatchObject({ instruction: 'Set.', options: { temperature: 0.5 } })
    expect(brief(requests[0]?.messages)).toEqual(['user Other'])
    expect(errors).toMatchObject([{ code: 'MAX_ITERATIONS' }])
  })

  test('gets a copy per run: nothing of it is left in the next', async () => {
    const seen: string[] = []
    const model = scriptedModel(['One.', 'Two.'])
    const change = (_: RunContext, config: AgentConfig) => {
      seen.push(`${config.instruction} ${config.tools.map((meta) => meta.tool.name)}`)
      config.instruction += '!'
      config.tools.push({ tool: tool('extra'), returnDirectly: false })
    }
    const agent = chatModelAgent({
      name: 'a',
      model,
      instruction: 'Base.',
      tools: [tool('own')],
      handlers: [withBeforeAgent(change)],
    })
    await startRun(agent, hello)
    await startRun(agent, hello)
    expect(seen).toEqual(['Base. own', 'Base. own'])
  })
})
