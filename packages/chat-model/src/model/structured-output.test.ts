import { type Agent, type AgentHandler, defineTool, withAfterModelRewriteHistory } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { brief, calling, conversation, expectSound, hello, runAgent, tool } from '../chat-model.fixture.ts'
import { chatModelAgent } from '../index.ts'

const schema = z.object({ city: z.string(), degrees: z.number() })
const good = '{"city":"Beijing","degrees":21}'
const value = { city: 'Beijing', degrees: 21 }

describe('structured output', () => {
  test('is validated and becomes the output of the run', async () => {
    const { end, requests } = await runAgent([good], { output: schema })
    expect(end).toMatchObject({ outcome: 'complete', output: value, text: good })
    expect(requests[0]?.options.responseSchema).toMatchObject({ type: 'object', required: ['city', 'degrees'] })
  })

  test('is typed by its schema', async () => {
    const model = scriptedModel([good], { repeat: true })
    const byZod = chatModelAgent({ name: 'a', model, output: schema })
    const { output } = await startRun(byZod, hello)
    expectTypeOf(output).toEqualTypeOf<{ city: string; degrees: number } | undefined>()
    const byJson = chatModelAgent({
      name: 'a',
      model,
      output: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    })
    expectTypeOf(byJson).toEqualTypeOf<Agent<{ city: string }>>()
    expectTypeOf(chatModelAgent({ name: 'a', model })).toEqualTypeOf<Agent<unknown>>()
    expect(output).toEqual(value)
  })

  test('plain JSON Schema is validated too', async () => {
    const output = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const
    const { end, requests } = await runAgent(['{"n":1.5}', '{"n":2}'], { output })
    expect([end?.output, requests.length]).toEqual([{ n: 2 }, 2])
  })

  test('is what the schema makes of the answer', async () => {
    const output = z.object({ n: z.number().default(7) })
    expect((await runAgent(['{}'], { output })).end?.output).toEqual({ n: 7 })
  })

  test.each([
    ['no JSON', 'It is 21 degrees.'],
    ['JSON that does not fit', '{"city":"Beijing"}'],
    ['an empty answer', ''],
  ])('%s is corrected by the model, which sees what is wrong', async (_, wrong) => {
    const finished = await runAgent([{ text: wrong }, good], { output: schema })
    expect(finished.end).toMatchObject({ outcome: 'complete', output: value })
    const sent = finished.requests[1]?.messages ?? []
    expect(sent.length).toBeGreaterThan(1)
    expect(sent.at(-1)?.role).toBe('user')
    expectSound(finished)
  })

  test('is marked from the start of its message on, and in the history', async () => {
    const turns = [{ text: 'I look.', toolCalls: [{ id: 'look', name: 'look' }] }, '{}', good]
    const { story, history } = await runAgent(turns, { output: schema, tools: [tool('look')] })
    expect(story.filter((line) => line.startsWith('message-start'))).toEqual(Array(3).fill('message-start structured'))
    const said = history.filter(({ role }) => role === 'assistant')
    expect(said).toMatchObject([{ toolCalls: [{}] }, { content: good, structured: true }])
    expect(said[0]).not.toHaveProperty('structured')
  })

  test('is marked where a handler has written it', async () => {
    const rewrite: AgentHandler = withAfterModelRewriteHistory((_, messages) =>
      messages.with(-1, { id: 'mine', role: 'assistant', content: good }),
    )
    const { events, history } = await runAgent(['{}'], { output: schema, handlers: [rewrite] })
    expect(history.at(-1)).toMatchObject({ id: 'mine', structured: true })
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'message-start', messageId: 'mine', structured: true }),
    )
  })

  test('stays marked when it is cut off', async () => {
    const torn = { text: ['{"city":', '"B'], error: { at: 'mid', error: new Error('no network') } } as const
    const { history } = await runAgent([torn], { output: schema, retry: false })
    expect(history.at(-1)).toMatchObject({ partial: true, structured: true })
  })

  test('is not marked in an agent without it', async () => {
    const { events, history } = await runAgent([good])
    expect(JSON.stringify([events, history])).not.toContain('structured')
  })

  test.each([
    ['with a language', `\`\`\`json\n${good}\n\`\`\``],
    ['without a language', `\`\`\`\n${good}\`\`\``],
    ['with spaces around', ` \n\`\`\`json  \n\n ${good} \n \`\`\`\n `],
  ])('may stand in a code block %s', async (_, answer) => {
    expect((await runAgent([answer], { output: schema })).end?.output).toEqual(value)
  })

  test.each([
    ['a fence and newlines', `\`\`\`\t${'\n'.repeat(3_000)}j${'\n'.repeat(3_000)}`],
    ['spaces', ' '.repeat(200_000)],
    ['many fences', '```\n'.repeat(50_000)],
    ['one fence', '```'],
  ])('is looked for in linear time, whatever the model says: %s', async (_, answer) => {
    const { end } = await runAgent([{ text: answer }, good], { output: schema })
    expect(end?.output).toEqual(value)
  })

  test('an answer that breaks the schema is shown, closed as dropped, and in no history', async () => {
    const finished = await runAgent(['draft', good], { output: schema })
    const [draft, final] = finished.events.filter((event) => event.type === 'message-end')
    expect(draft).toMatchObject({ message: { content: 'draft' }, dropped: true, usage: expect.anything() })
    expect(final).not.toHaveProperty('dropped')
    expect(brief(finished.history)).toEqual(['user Hello', `assistant ${good}`])
    expect(brief(finished.requests[1]?.messages)).toEqual([
      'user Hello',
      'assistant draft',
      expect.stringMatching(/^user The answer does not fit/),
    ])
    expectSound(finished)
  })

  test('a run that is resumed after a correction goes on without it', async () => {
    const ask = tool('ask', async (_, ctx) => `${await ctx.interrupt({ reason: 'input' })}`)
    const talk = conversation(['draft', calling('ask'), good], { output: schema, tools: [ask] })
    await talk.next()
    const { end } = await talk.next({ ask: 'yes' })
    expect(end?.output).toEqual(value)
    expect(brief(talk.model.requests[2]?.messages)).toEqual(['user Hello', 'assistant ask', 'tool yes'])
  })

  test('an answer that breaks the schema is never the text of the run', async () => {
    const texts: string[] = []
    const listen: AgentHandler = { name: 'listen', afterAgent: (_, { text }) => void texts.push(text) }
    const { end } = await runAgent(['1'], { output: schema, outputCorrections: 0, handlers: [listen] })
    expect([end?.text, texts]).toEqual(['', ['']])
  })

  test.each([
    ['changed', true, ['user Hello', `assistant ${good}`]],
    ['added', false, ['user Hello', 'assistant draft', `assistant ${good}`]],
  ] as const)('an answer that a hook has %s is dropped just so', async (_, changes, history) => {
    let calls = 0
    const finished = await runAgent([{ text: 'draft', toolCalls: [{ id: 't', name: 't' }] }, good], {
      output: schema,
      tools: [tool('t')],
      handlers: [
        withAfterModelRewriteHistory((_, messages) => {
          if (calls++ > 0) return
          const { id } = messages.at(-1) ?? expect.fail('no answer')
          const draft = changes ? [] : [{ id, role: 'assistant', content: 'draft' } as const]
          return [...messages.slice(0, -1), ...draft, { id: changes ? id : 'own', role: 'assistant', content: 'No.' }]
        }),
      ],
    })
    expect(brief(finished.history)).toEqual(history)
    expect(brief(finished.requests[1]?.messages).at(-2)).toBe('assistant No.')
    expect(finished.toolEnds).toMatchObject([{ callId: 't', status: 'dropped' }])
    expectSound(finished)
  })

  test('the correction names what is wrong', async () => {
    const { requests } = await runAgent(['{"city":"Beijing"}', good], { output: schema })
    expect(brief(requests[1]?.messages).at(-1)).toContain('degrees')
  })

  test('after the budget it is VALIDATION_FAILED, and no output', async () => {
    const finished = await runAgent(['1', '2', '3', good], { output: schema })
    expect(finished.errors).toMatchObject([{ code: 'VALIDATION_FAILED' }])
    expect([finished.requests.length, finished.end?.output]).toEqual([3, undefined])
    expectSound(finished)
  })

  test.each([0, 1, 3])('outputCorrections: %i', async (outputCorrections) => {
    const { requests, errors } = await runAgent(Array(9).fill('not JSON'), { output: schema, outputCorrections })
    expect([requests.length, errors.map(({ code }) => code)]).toEqual([outputCorrections + 1, ['VALIDATION_FAILED']])
  })

  test('corrections count as model calls', async () => {
    const { errors, requests } = await runAgent(['x', 'y', good], { output: schema, maxIterations: 2 })
    expect([requests.length, errors.map(({ code }) => code)]).toEqual([2, ['MAX_ITERATIONS']])
  })

  test('tools come first, the answer is validated at the end', async () => {
    const { end } = await runAgent([calling('t'), good], { output: schema, tools: [tool('t')] })
    expect(end?.output).toEqual(value)
  })

  test('an answer that came out of an after-hook is what is validated', async () => {
    const { end } = await runAgent(['draft'], {
      output: schema,
      handlers: [
        {
          name: 'fix',
          afterModelRewriteHistory: (_, messages) => [
            ...messages.slice(0, -1),
            { id: messages.at(-1)?.id ?? '', role: 'assistant', content: good },
          ],
        },
      ],
    })
    expect(end?.output).toEqual(value)
  })

  test('a run without output has none', async () => {
    expect((await runAgent([good])).end).not.toHaveProperty('output')
  })

  test('the arguments of a tool are typed by its schema', () => {
    defineTool({
      name: 't',
      description: 't',
      parameters: schema,
      invoke: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ city: string; degrees: number }>()
      },
    })
  })
})
