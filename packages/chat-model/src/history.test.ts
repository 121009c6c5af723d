import type { AgentInput, AssistantMessage, Message, ToolMessage } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { describe, expect, test } from 'vitest'
import { brief, calling, expectSound, runAgent, tool, user } from './chat-model.fixture.ts'

const asking = (...names: readonly string[]): AssistantMessage => ({
  id: `m-${names.join('-')}`,
  role: 'assistant',
  content: '',
  toolCalls: names.map((name) => ({ id: name, name, arguments: '{}' })),
})
const result = (callId: string): ToolMessage => ({
  id: `r-${callId}`,
  role: 'tool',
  callId,
  name: callId,
  content: `${callId} result`,
})

/** The history as the model sees it. */
async function seen(messages: readonly Message[], options: Parameters<typeof runAgent>[1] = {}) {
  const { requests } = await runAgent(['Done.'], options, { messages })
  return brief(requests[0]?.messages)
}

describe('incoming history', () => {
  test('a call without a result is repaired neutrally before the model sees it', async () => {
    expect(await seen([user('One'), asking('t'), user('Two', 'u2')])).toEqual([
      'user One',
      'assistant t',
      `tool ${UNKNOWN_RESULT}`,
      'user Two',
    ])
  })

  test('only the missing results are filled in, each after its call', async () => {
    expect(await seen([user('One'), asking('a', 'b', 'c'), result('b'), user('Two', 'u2')])).toEqual([
      'user One',
      'assistant a b c',
      `tool ${UNKNOWN_RESULT}`,
      'tool b result',
      `tool ${UNKNOWN_RESULT}`,
      'user Two',
    ])
  })

  test('results of no call and second results do not reach the model', async () => {
    expect(await seen([result('x'), user('One'), asking('t'), result('t'), { ...result('t'), id: 'again' }])).toEqual([
      'user One',
      'assistant t',
      'tool t result',
    ])
  })

  test('a call of a tool that is not long-running awaits nothing: it is repaired, also at the end', async () => {
    const options = { tools: [tool('t')] }
    expect(await seen([user('One'), asking('t')], options)).toEqual([
      'user One',
      'assistant t',
      `tool ${UNKNOWN_RESULT}`,
    ])
  })

  test('at the end its neutral result is written as an event, so that no reader waits for the call', async () => {
    const finished = await runAgent(['Done.'], { tools: [tool('t')] }, { messages: [user('One'), asking('t')] })
    expect(finished.toolEnds).toMatchObject([{ callId: 't', status: 'failed', content: UNKNOWN_RESULT }])
    expect([finished.end?.text, finished.end?.openCallIds]).toEqual(['Done.', undefined])
    expect(brief(finished.history)).toEqual(['user One', 'assistant t', `tool ${UNKNOWN_RESULT}`, 'assistant Done.'])
    expectSound(finished)
  })

  test('a call that got lost beside one that awaits its answer is repaired; the other stays open', async () => {
    const options = { tools: [tool('t'), tool('slow', undefined, { longRunning: true })] }
    const first = await runAgent(['Too early.'], options, { messages: [user('One'), asking('slow', 't')] })
    expect([first.requests.length, first.end?.openCallIds]).toEqual([0, ['slow']])
    expect(first.toolEnds).toMatchObject([{ callId: 't', content: UNKNOWN_RESULT }])
    expectSound(first)
    const messages = [...first.history, result('slow')]
    const second = await runAgent(['Done.'], options, { messages }, { runId: 'R2' })
    expect(brief(second.requests[0]?.messages)).toEqual([
      'user One',
      'assistant slow t',
      'tool slow result',
      `tool ${UNKNOWN_RESULT}`,
    ])
    expect([second.toolEnds, second.end?.openCallIds]).toEqual([[], undefined])
  })

  test('a call that got lost beside an interrupted one is repaired on resume', async () => {
    const ask = tool('ask', async (_, ctx) => `${await ctx.interrupt({ reason: 'input' })}`)
    const options = { tools: [ask, tool('t')] }
    const settings = { canInterrupt: true }
    const first = await runAgent([calling('ask', 't')], options, undefined, settings)
    const resume = first.resume({ ask: 'yes' })
    const messages = resume.messages.filter(({ role }) => role !== 'tool')
    const second = await runAgent(['Done.'], options, { ...resume, messages }, { ...settings, runId: 'R2' })
    expect(brief(second.requests[0]?.messages).slice(2)).toEqual(['tool yes', `tool ${UNKNOWN_RESULT}`])
    expect([second.end?.text, second.end?.openCallIds]).toEqual(['Done.', undefined])
  })

  test('a call that awaits an answer is left open, and the model is not asked', async () => {
    const options = { tools: [tool('slow', undefined, { longRunning: true })] }
    const finished = await runAgent(['Too early.'], options, { messages: [user('One'), asking('slow')] })
    expect([finished.requests.length, finished.end?.openCallIds]).toEqual([0, ['slow']])
    expectSound(finished)
  })

  test('a sound history reaches the model as it is, the very same messages', async () => {
    const messages = [user('One'), asking('t'), result('t'), user('Two', 'u2')]
    const { requests } = await runAgent(['Done.'], {}, { messages })
    expect(requests[0]?.messages.map((message, i) => message === messages[i])).toEqual([true, true, true, true])
  })

  test('is never changed', async () => {
    const messages = [user('One'), asking('t'), user('Two', 'u2')]
    const copy = structuredClone(messages)
    const input: AgentInput = Object.freeze({
      messages: Object.freeze(messages.map((message) => Object.freeze(message))),
    })
    const { end } = await runAgent([calling('x'), 'Done.'], { tools: [tool('x')] }, input)
    expect([end?.outcome, messages]).toEqual(['complete', copy])
  })

  test('may be empty', async () => {
    expect((await runAgent(['Hi.'], {}, { messages: [] })).end?.text).toBe('Hi.')
  })

  test('the instruction is not one of the messages', async () => {
    const { requests } = await runAgent(['Hi.'], { instruction: 'Be kind.' })
    expect([requests[0]?.instruction, brief(requests[0]?.messages)]).toEqual(['Be kind.', ['user Hello']])
  })

  test('the events of a run are exactly what it adds to the history', async () => {
    const options = { tools: [tool('a'), tool('b')] }
    const first = await runAgent([calling('a', 'b'), 'Done.'], options)
    const { requests } = await runAgent(['Again.'], options, { messages: [...first.history, user('Two', 'u2')] })
    expect(brief(requests[0]?.messages)).toEqual([
      'user Hello',
      'assistant a b',
      'tool a done',
      'tool b done',
      'assistant Done.',
      'user Two',
    ])
    expect(first.requests[1]?.messages).toEqual(first.history.slice(0, -1))
  })
})

describe('additions', () => {
  const added = (name: string, text = `added ${name}`) => ({ tool: tool(name, () => text), returnDirectly: false })

  test('the instruction is joined with a blank line', async () => {
    const input = { messages: [user()], additions: { instruction: 'You may transfer.' } }
    expect((await runAgent(['Hi.'], { instruction: 'Help.' }, input)).requests[0]?.instruction).toBe(
      'Help.\n\nYou may transfer.',
    )
    expect((await runAgent(['Hi.'], {}, input)).requests[0]?.instruction).toBe('You may transfer.')
  })

  test('tools are added unless the name is taken', async () => {
    const input = { messages: [user()], additions: { tools: [added('own'), added('extra')] } }
    const { requests, toolEnds } = await runAgent([calling('own', 'extra'), 'Done.'], { tools: [tool('own')] }, input)
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['own', 'extra'])
    expect(toolEnds.map(({ content }) => content)).toEqual(['own done', 'added extra'])
  })

  test('two added tools of one name: the first stays', async () => {
    const input = { messages: [user()], additions: { tools: [added('x', 'one'), added('x', 'two')] } }
    const { requests, toolEnds } = await runAgent([calling('x'), 'Done.'], {}, input)
    expect([requests[0]?.tools.length, toolEnds[0]?.content]).toEqual([1, 'one'])
  })

  test('an added tool keeps its returnDirectly', async () => {
    const input = { messages: [user()], additions: { tools: [{ ...added('x'), returnDirectly: true }] } }
    expect((await runAgent([calling('x')], {}, input)).end?.text).toBe('added x')
  })

  test('are in the config that beforeAgent gets', async () => {
    const configs: unknown[] = []
    const input = { messages: [user()], additions: { instruction: 'More.', tools: [added('x')] } }
    await runAgent(
      ['Hi.'],
      {
        instruction: 'Help.',
        handlers: [
          {
            name: 'look',
            beforeAgent: (_, { instruction, tools }) =>
              void configs.push(instruction, ...tools.map((meta) => meta.tool.name)),
          },
        ],
      },
      input,
    )
    expect(configs).toEqual(['Help.\n\nMore.', 'x'])
  })

  test('last for one run only, and count on resume where they come again', async () => {
    const tools = [tool('ask', async (_, ctx) => `${await ctx.interrupt({ reason: 'input' })}`)]
    const additions = { tools: [added('x')] }
    const settings = { canInterrupt: true }
    const first = await runAgent([calling('ask')], { tools }, { messages: [user()], additions }, settings)
    const resume = first.resume({ ask: 'yes' })
    const second = await runAgent(['Done.'], { tools }, { ...resume, additions }, { ...settings, runId: 'R2' })
    expect(second.requests[0]?.tools.map(({ name }) => name)).toEqual(['ask', 'x'])
    const third = await runAgent(['Done.'], { tools }, resume, { ...settings, runId: 'R3' })
    expect(third.requests[0]?.tools.map(({ name }) => name)).toEqual(['ask'])
  })
})
