import { KernelError, type ModelPart, type ModelRequest } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from './scripted-model.ts'
import type { ScriptedTurn } from './scripted-turn.ts'

const request: ModelRequest = {
  instruction: '',
  messages: [],
  tools: [],
  options: {},
  step: 'model:0',
  idempotencyKey: 'k',
}

/** The parts of an answer, and what ended it early. */
async function answer(turn: ScriptedTurn, signal = new AbortController().signal) {
  const parts: ModelPart[] = []
  try {
    for await (const part of scriptedModel([turn]).stream(request, { signal })) parts.push(part)
    return { parts }
  } catch (error) {
    return { parts, error }
  }
}

describe('scriptedModel', () => {
  it('says plain text as one delta', async () => {
    expect((await answer('Hi')).parts).toEqual([
      { type: 'text-delta', delta: 'Hi' },
      { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } },
    ])
  })

  it('says reasoning, text in chosen deltas, and calls whose arguments come in pieces', async () => {
    const usage = { inputTokens: 9, outputTokens: 3, reasoningTokens: 2 }
    const calls = [
      { name: 'a', arguments: { x: 1 } },
      { id: 'mine', name: 'b', arguments: ['{"y', '":'] },
    ]
    const { parts } = await answer({ reasoning: 'Hm', text: ['Hel', 'lo'], toolCalls: calls, usage })
    expect(parts).toEqual([
      { type: 'reasoning-delta', delta: 'Hm' },
      { type: 'part-end' },
      { type: 'text-delta', delta: 'Hel' },
      { type: 'text-delta', delta: 'lo' },
      { type: 'tool-call-start', callId: 'call-1', name: 'a' },
      { type: 'tool-call-delta', callId: 'call-1', delta: '{"x":1}' },
      { type: 'tool-call-end', callId: 'call-1' },
      { type: 'tool-call-start', callId: 'mine', name: 'b' },
      { type: 'tool-call-delta', callId: 'mine', delta: '{"y' },
      { type: 'tool-call-delta', callId: 'mine', delta: '":' },
      { type: 'tool-call-end', callId: 'mine' },
      { type: 'finish', reason: 'tool-calls', usage },
    ])
  })

  it.each([
    ['before', 0],
    ['mid', 2],
    ['after', 4],
  ] as const)('fails %s its answer', async (at, count) => {
    const error = new KernelError('MODEL_FAILED', 'test: gone')
    const outcome = await answer({ text: ['a', 'b', 'c'], error: { at, error } })
    expect(outcome.parts).toHaveLength(count)
    expect(outcome.error).toBe(error)
  })

  it.each([
    ['before', 0],
    ['mid', 2],
    ['after', 4],
  ] as const)('hangs %s its answer, until it is aborted', async (hang, count) => {
    const controller = new AbortController()
    const outcome = answer({ text: ['a', 'b', 'c'], hang }, controller.signal)
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort('enough')
    const { parts, error } = await outcome
    expect(parts).toHaveLength(count)
    expect(error).toBe('enough')
  })

  it('breaks the rules where its script does', async () => {
    const parts = [{ type: 'finish' }, { type: 'text-delta', delta: 'late' }] as readonly ModelPart[]
    expect((await answer({ parts })).parts).toEqual(parts)
  })

  it('remembers what it was asked, and can answer by it', async () => {
    const model = scriptedModel([({ instruction }) => `You said: ${instruction}`])
    const { signal } = new AbortController()
    const parts = await Array.fromAsync(model.stream({ ...request, instruction: 'Hi' }, { signal }))
    expect(parts[0]).toEqual({ type: 'text-delta', delta: 'You said: Hi' })
    expect(model.requests).toMatchObject([{ instruction: 'Hi' }])
  })

  it('answers by step if its script is an object, in any order and as often as it is asked', async () => {
    const model = scriptedModel({
      'model:0': { toolCalls: [{ name: 'look' }, { id: 'own', name: 'look' }] },
      'agent:1/model:0': ({ messages }) => `${messages.length} messages`,
    })
    const { signal } = new AbortController()
    const ask = (step: string) => Array.fromAsync(model.stream({ ...request, step }, { signal }))
    const first = await ask('model:0')
    expect(await ask('agent:1/model:0')).toMatchObject([{ delta: '0 messages' }, { type: 'finish' }])
    expect(await ask('model:0')).toEqual(first)
    const ids = first.flatMap((part) => (part.type === 'tool-call-start' ? [part.callId] : []))
    expect(ids).toEqual(['model:0-call-1', 'own'])
    await expect(ask('model:1')).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: 'scripted model: has model:0, agent:1/model:0, got model:1',
    })
  })

  it.each([[{ text: 'Hi.' }], ['Hi.'], [null]])(
    'refuses a script that is neither a list nor by step (%o)',
    (script) => {
      expect(() => scriptedModel(script as never)).toThrow(/^scriptedModel: turns is a list, or an object by step/)
    },
  )

  it('fails when its script is over, unless it repeats', async () => {
    const { signal } = new AbortController()
    const once = scriptedModel(['a'])
    const again = scriptedModel(['a'], { repeat: true })
    for (const model of [once, again]) await Array.fromAsync(model.stream(request, { signal }))
    await expect(Array.fromAsync(once.stream(request, { signal }))).rejects.toThrow(/has 1 turns, got call 2/)
    expect(await Array.fromAsync(again.stream(request, { signal }))).toHaveLength(2)
  })

  it.each<[string, unknown, string]>([
    ['tool_calls', { tool_calls: [] }, 'turn 2: unknown option tool_calls; did you mean toolCalls?'],
    ['toolCall', { toolCall: { name: 'a' } }, 'turn 2: unknown option toolCall; did you mean toolCalls?'],
    ['calls', { calls: [] }, 'turn 2: unknown option calls; did you mean toolCalls?'],
    ['content', { content: 'Hi' }, 'turn 2: unknown option content; did you mean text?'],
    ['finish_reason', { finish_reason: 'stop' }, 'turn 2: unknown option finish_reason; did you mean finishReason?'],
    ['one call', { toolCalls: { name: 'a' } }, 'turn 2: toolCalls is a list of calls, got an object'],
    [
      'args',
      { toolCalls: [{ name: 'a' }, { name: 'b', args: {} }] },
      'turn 2, call 2: unknown option args; did you mean arguments?',
    ],
    ['toolName', { toolCalls: [{ toolName: 'a' }] }, 'turn 2, call 1: unknown option toolName; did you mean name?'],
    ['no name', { toolCalls: [{ arguments: {} }] }, 'turn 2, call 1: name is the name of a tool, got undefined'],
    [
      'arguments as text',
      { toolCalls: [{ name: 'a', arguments: '{}' }] },
      'turn 2, call 1: arguments is an object, or a list of the pieces in which its JSON is written, got "{}"',
    ],
    [
      'a bare error',
      { error: new Error('no') },
      "turn 2: error is { at, error }, with 'before', 'mid' or 'after' as at",
    ],
    ['an error nowhere', { error: { at: 'end', error: 1 } }, "turn 2: error is { at, error }, with 'before', 'mid'"],
    ['an error without its name', { error: { at: 'mid', cause: 1 } }, 'turn 2, error: unknown option cause'],
    ['hang', { hang: true }, "turn 2: hang is 'before', 'mid' or 'after', got true"],
    ['a number as text', { text: 5 }, 'turn 2: text is text or a list of texts, got 5'],
    ['nothing', undefined, 'turn 2: expected an object of options, got undefined'],
  ])('refuses a turn that is misspelt: %s', async (_, turn, message) => {
    const refused = expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`scriptedModel: ${message}`),
    })
    expect(() => scriptedModel(['Hi', turn as ScriptedTurn])).toThrow(refused)
    const { signal } = new AbortController()
    const model = scriptedModel(['Hi', () => turn as ScriptedTurn])
    await Array.fromAsync(model.stream(request, { signal }))
    await expect(Array.fromAsync(model.stream(request, { signal }))).rejects.toThrow(refused)
  })
})
