import { KernelError, type ModelPart, type Part, stream, type ToolCallResult } from '@troupe/kernel'
import { testHandler } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { callOf, contextOf, wrapped } from '../handlers.fixture.ts'
import { answer, ask, FINISH, REQUEST, saying } from '../model-calls.fixture.ts'
import { type GuardrailsOptions, guardrails } from './guardrails.ts'
import type { Check } from './verdict.ts'

const pass: Check = () => undefined
const noRude: Check = (text) => (/rude/.test(text) ? { refuse: 'it is rude' } : undefined)
const slow =
  (check: Check): Check =>
  async (text, about) => {
    await new Promise((resolve) => setImmediate(resolve))
    return check(text, about)
  }

testHandler('guardrails', () => guardrails({ output: pass, toolResults: pass }))
testHandler('guardrails that wait', () => guardrails({ output: slow(pass), toolResults: slow(pass), hold: 'answer' }))

/** The texts of an answer in the pieces that come out. */
async function shown(options: GuardrailsOptions, parts: readonly ModelPart[]): Promise<readonly string[]> {
  const out = await ask(guardrails(options), contextOf(), answer(parts))
  return out.flatMap((part) => ('delta' in part ? [part.delta] : []))
}

const text = (...pieces: readonly string[]) => [
  ...pieces.map((delta) => ({ type: 'text-delta', delta }) as const),
  FINISH,
]

describe('an answer', () => {
  it('is shown sentence by sentence, each when it was checked', async () => {
    const checked: string[] = []
    const output: Check = (sentence, { before, kind }) => void checked.push(`${kind}: ${before}|${sentence}`)
    const pieces = await shown({ output }, text('One', '. Tw', 'o. Th', 'ree'))
    expect(pieces).toEqual(['One. ', 'Two. ', 'Three'])
    expect(checked).toEqual(['text: |One. ', 'text: One. |Two. ', 'text: One. Two. |Three'])
  })

  it.each([
    ['at once', noRude],
    ['later', slow(noRude)],
  ])('shows nothing of a sentence that is refused %s, and ends', async (_, output) => {
    const parts: ModelPart[] = []
    const handler = guardrails({ output })
    const reading = (async () => {
      const model = saying('Fine. This is ru', 'de. And more.')
      for await (const part of handler.wrapModelCall?.(contextOf(), {} as never, model) ?? []) parts.push(part)
    })()
    await expect(reading).rejects.toMatchObject({
      code: 'GUARDRAIL_REFUSED',
      message: 'guardrails: the answer was refused, it is rude',
      details: { reason: 'it is rude' },
    })
    expect(parts).toEqual([{ type: 'text-delta', delta: 'Fine. ' }])
  })

  it('may have a sentence replaced, and goes on', async () => {
    const output: Check = (sentence) => (/rude/.test(sentence) ? { replace: '[removed] ' } : undefined)
    expect(await shown({ output }, text('Fine. This is rude. Better.'))).toEqual(['Fine. [removed] ', 'Better.'])
  })

  it('is held back as a whole if asked', async () => {
    const seen: string[] = []
    const output: Check = (whole) => void seen.push(whole)
    expect(await shown({ output, hold: 'answer' }, text('One. ', 'Two.'))).toEqual(['One. Two.'])
    expect(seen).toEqual(['One. Two.'])
  })

  it('has its reasoning, the arguments of its calls and a tool name that it made up checked too', async () => {
    const seen: string[] = []
    const output: Check = (one, { kind, tool = '' }) => void seen.push(`${kind} ${tool} ${one}`)
    const parts: readonly ModelPart[] = [
      { type: 'reasoning-delta', delta: 'Hm' },
      { type: 'text-delta', delta: 'Let me' },
      { type: 'text-delta', delta: ' see' },
      { type: 'tool-call-start', callId: 'c', name: 'look' },
      { type: 'tool-call-delta', callId: 'c', delta: '{"q":' },
      { type: 'tool-call-delta', callId: 'c', delta: '"sea"}' },
      { type: 'tool-call-end', callId: 'c' },
      FINISH,
    ]
    const out = await ask(guardrails({ output }), contextOf(), answer(parts))
    expect(seen).toEqual(['reasoning  Hm', 'text  Let me see', 'arguments look look', 'arguments look {"q":"sea"}'])
    expect(out.map((part) => ('delta' in part ? `${part.type} ${part.delta}` : part.type))).toEqual([
      'reasoning-delta Hm',
      'text-delta Let me see',
      'tool-call-start',
      'tool-call-delta {"q":"sea"}',
      'tool-call-end',
      'finish',
    ])
  })

  it.each(['text', 'arguments'] as const)(
    'that writes signs of its %s as escapes of JSON is checked as it is read',
    async (kind) => {
      const delta = '{"a":"r\\u0075de"}'
      const callId = 'c'
      const parts: readonly ModelPart[] =
        kind === 'text'
          ? text('{"a":"r\\u00', '75de"}')
          : [
              { type: 'tool-call-start', callId, name: 'look' },
              { type: 'tool-call-delta', callId, delta },
              { type: 'tool-call-end', callId },
              FINISH,
            ]
      const request = { ...REQUEST, options: { responseSchema: { type: 'object' } } }
      const asked = (output: Check) => ask(guardrails({ output }), contextOf(), answer(parts), request)
      await expect(asked(noRude)).rejects.toMatchObject({ code: 'GUARDRAIL_REFUSED' })
      const deltas = (await asked(pass)).flatMap((part) => ('delta' in part ? [part.delta] : []))
      expect(deltas).toEqual([delta])
    },
  )

  it('refuses the name of a tool without showing it', async () => {
    const parts: readonly ModelPart[] = [{ type: 'tool-call-start', callId: 'c', name: 'rude' }, FINISH]
    const refused = ask(
      guardrails({ output: (text) => (text === 'rude' ? { refuse: 'no' } : undefined) }),
      contextOf(),
      answer(parts),
    )
    await expect(refused).rejects.toMatchObject({ message: 'guardrails: the name of a tool was refused, no' })
  })

  it('begins anew with another attempt', async () => {
    const parts: readonly ModelPart[] = [
      { type: 'text-delta', delta: 'Half a rude' },
      { type: 'restart' },
      ...text('Whole.'),
    ]
    expect(await shown({ output: noRude }, parts)).toEqual(['Whole.'])
  })

  it('shows nothing that it holds when the model fails', async () => {
    const seen: ModelPart[] = []
    const model = answer([{ type: 'text-delta', delta: 'One. Tw' }], new KernelError('MODEL_FAILED', 'cut'))
    const reading = (async () => {
      const handler = guardrails({ output: pass })
      for await (const part of handler.wrapModelCall?.(contextOf(), {} as never, model) ?? []) seen.push(part)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'MODEL_FAILED' })
    expect(seen).toEqual([{ type: 'text-delta', delta: 'One. ' }])
  })

  it('is refused if the check gives no verdict', async () => {
    await expect(shown({ output: (() => false) as never }, text('Hi.'))).rejects.toMatchObject({
      code: 'GUARDRAIL_REFUSED',
      message: 'guardrails: the answer was refused, the check gave no verdict, got false',
    })
  })
})

describe('a tool result', () => {
  const through = (toolResults: Check, result: ToolCallResult) =>
    wrapped(guardrails({ toolResults }), async () => result)(contextOf(), callOf())

  it('that passes stays as it is', async () => {
    const result = { content: 'Fine.', data: { a: 1 } }
    expect(await through(pass, result)).toBe(result)
  })

  it.each<[string, ToolCallResult]>([
    ['content', { content: 'rude' }],
    ['display', { content: 'Fine.', display: 'rude' }],
    ['data', { content: 'Fine.', data: { deep: ['rude'] } }],
    ['error', { content: 'Fine.', error: { code: 'X', message: 'rude' } }],
    [
      'parts',
      {
        content: [
          { type: 'text', text: 'ru' },
          { type: 'text', text: 'de' },
        ],
      },
    ],
  ])('with %s that is refused becomes an error, without it', async (_, result) => {
    const refused = await through(noRude, result)
    expect(refused).toEqual({
      content: 'Error: guardrails: the result of look was refused, it is rude',
      error: expect.objectContaining({ code: 'GUARDRAIL_REFUSED' }),
    })
  })

  it('may be replaced, with all that it shows', async () => {
    const result = { content: 'secret', display: 'secret', data: 'secret', direct: true }
    expect(await through(() => ({ replace: 'removed' }), result)).toEqual({ content: 'removed', direct: true })
  })

  const streamed = async (toolResults: Check, chunk: string) => {
    const call = await guardrails({ toolResults }).wrapStreamableToolCall?.(contextOf(), callOf(), async () => ({
      stream: stream<string | Part>(async (sink) => void (await sink.write(chunk))),
      result: Promise.resolve({ content: chunk }),
    }))
    return { chunks: await Array.fromAsync(call?.stream ?? []), result: await call?.result }
  }

  it('of a tool that streams shows its chunks when it has passed', async () => {
    expect(await streamed(slow(noRude), 'Fine.')).toEqual({ chunks: ['Fine.'], result: { content: 'Fine.' } })
    expect(await streamed(noRude, 'rude')).toMatchObject({
      chunks: [],
      result: { error: { code: 'GUARDRAIL_REFUSED' } },
    })
    expect(await streamed(() => ({ replace: 'x' }), 'Fine.')).toEqual({ chunks: [], result: { content: 'x' } })
  })
})

it.each<[string, unknown]>([
  ['expected output or toolResults', {}],
  ['output must be a function', { output: /rude/ }],
  ["hold must be 'sentence' or 'answer'", { output: pass, hold: 'word' }],
])('refuses options: %s', (message, options) => {
  expect(() => guardrails(options as GuardrailsOptions)).toThrow(message)
})
