import { type ChatModel, checkOptionNames, KernelError, type ModelPart, type ModelRequest } from '@troupe/kernel'
import { expect } from 'vitest'
import { type Clause, register } from '../clause.ts'
import { expectJson, expectListenersGone, expectNoListeners, frozen, promptly } from './patience.ts'

/** What a model is asked during its suite, and how it is made to fail. */
export interface TestModelOptions {
  /** @default one user message, no tools */
  readonly request?: ModelRequest
  /** A model whose call fails, to check how its error looks. */
  readonly failing?: () => ChatModel
}

/**
 * The contract of `ChatModel` as tests.
 * @example testModel('openai', () => aiSdkModel(openai('gpt-5')))
 */
export function testModel(name: string, make: () => ChatModel, options: TestModelOptions = {}): void {
  checkOptionNames('testModel', options, { request: true, failing: true })
  register(name, modelClauses(make, options))
}

export function modelClauses(make: () => ChatModel, options: TestModelOptions = {}): readonly Clause[] {
  const request = frozen(structuredClone(options.request ?? QUESTION))
  const ask = (model: ChatModel, signal = new AbortController().signal) => collect(model.stream(request, { signal }))
  const clauses: Clause[] = [
    {
      name: 'has a name',
      run: async () => {
        expect(make().name).toEqual(expect.stringMatching(/\S/))
      },
    },
    {
      name: 'ends with exactly one finish',
      run: async () => {
        const parts = await ask(make())
        expect(parts.map(({ type }) => type).filter((type) => type === 'finish')).toHaveLength(1)
        expect(parts.at(-1)?.type).toBe('finish')
      },
    },
    {
      name: 'gives parts of known types, as plain JSON',
      run: async () => {
        for (const part of await ask(make())) {
          expect(PART_TYPES).toContain(part.type)
          expectJson(part)
        }
      },
    },
    {
      name: 'writes each tool call as start, deltas and end under one id',
      run: async () => checkCalls(await ask(make())),
    },
    {
      name: 'counts tokens in whole numbers',
      run: async () => {
        const finish = (await ask(make())).at(-1)
        if (finish?.type !== 'finish') throw new Error(`expected finish, got ${finish?.type}`)
        for (const count of Object.values(finish.usage)) {
          expect(Number.isSafeInteger(count) && count >= 0, `tokens: a whole number, got ${count}`).toBe(true)
        }
        expect(Object.keys(finish.usage)).toEqual(expect.arrayContaining(['inputTokens', 'outputTokens']))
      },
    },
    {
      name: 'answers two requests at once without mixing them',
      run: async () => {
        const model = make()
        for (const parts of await Promise.all([ask(model), ask(model)])) {
          expect(parts.filter(({ type }) => type === 'finish')).toHaveLength(1)
          checkCalls(parts)
        }
      },
    },
    {
      name: 'leaves no listener on the signal',
      run: async () => {
        const { signal } = new AbortController()
        await ask(make(), signal)
        expectNoListeners(signal)
      },
    },
    {
      name: 'a signal that is aborted already ends the call at once, without a finish',
      run: async () => {
        const controller = new AbortController()
        controller.abort(new KernelError('ABORTED', 'test: stop'))
        const outcome = await promptly('an aborted call', ask(make(), controller.signal))
        expect('error' in outcome, 'rejects').toBe(true)
        expectNoListeners(controller.signal)
      },
    },
    {
      name: 'an abort after any part ends the call at once',
      run: async () => {
        const { length } = await ask(make())
        for (let stop = 1; stop < length; stop++) {
          const controller = new AbortController()
          let seen = 0
          const read = async () => {
            for await (const _ of make().stream(request, { signal: controller.signal })) {
              if (++seen === stop) controller.abort(new KernelError('ABORTED', 'test: stop'))
            }
          }
          await promptly(`a call aborted after part ${stop}`, read())
          // One part may wait in the stream, and one more at its entrance.
          expect(seen, `parts of a call aborted after part ${stop}`).toBeLessThanOrEqual(stop + 2)
          await expectListenersGone(controller.signal)
        }
      },
    },
    {
      name: 'a reader may leave after any part',
      run: async () => {
        const { length } = await ask(make())
        for (let stop = 1; stop < length; stop++) {
          const { signal } = new AbortController()
          const read = async () => {
            let seen = 0
            for await (const _ of make().stream(request, { signal })) if (++seen === stop) break
          }
          expect(await promptly(`leaving after part ${stop}`, read())).toEqual({ value: undefined })
          await expectListenersGone(signal)
        }
      },
    },
  ]
  const { failing } = options
  if (!failing) return clauses
  return [
    ...clauses,
    {
      name: 'fails with a KernelError whose code begins with MODEL_',
      run: async () => {
        const outcome = await promptly('a failing call', ask(failing()))
        const error: unknown = 'error' in outcome ? outcome.error : undefined
        expect(KernelError.is(error), 'a KernelError').toBe(true)
        expect(KernelError.from(error).code).toMatch(/^MODEL_/)
      },
    },
  ]
}

const QUESTION: ModelRequest = {
  instruction: 'Answer in one word.',
  messages: [{ id: 'm1', role: 'user', content: 'Hello?' }],
  tools: [],
  options: {},
  step: 'model:0',
  idempotencyKey: 'test/model:0',
}

const PART_TYPES: readonly ModelPart['type'][] = [
  'text-delta',
  'reasoning-delta',
  'part-end',
  'file',
  'tool-call-start',
  'tool-call-delta',
  'tool-call-end',
  'restart',
  'finish',
]

async function collect(source: AsyncIterable<ModelPart>): Promise<ModelPart[]> {
  const parts: ModelPart[] = []
  for await (const part of source) parts.push(part)
  return parts
}

function checkCalls(parts: readonly ModelPart[]): void {
  const open = new Set<string>()
  const seen = new Set<string>()
  for (const part of parts) {
    if (part.type === 'restart') open.clear()
    if (part.type === 'tool-call-start') {
      expect(seen.has(part.callId), `call ${part.callId} starts once`).toBe(false)
      seen.add(part.callId)
      open.add(part.callId)
    }
    if (part.type === 'tool-call-delta') expect(open.has(part.callId), `call ${part.callId} is open`).toBe(true)
    if (part.type === 'tool-call-end') expect(open.delete(part.callId), `call ${part.callId} was open`).toBe(true)
    if (part.type === 'finish') expect([...open], 'calls left open').toEqual([])
  }
}
