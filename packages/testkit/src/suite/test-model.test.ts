import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ChatModel, KernelError, type ModelPart } from '@troupe/kernel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scriptedModel } from '../scripted-model.ts'
import { broken, expectBroken } from './broken.fixture.ts'
import { modelClauses, testModel } from './test-model.ts'

const answer = {
  reasoning: 'Hm',
  text: ['Hel', 'lo'],
  toolCalls: [{ name: 'a', arguments: ['{', '}'] }, { name: 'b' }],
}
const sound = () => scriptedModel([answer], { repeat: true })
const failing = () => scriptedModel([{ error: { at: 'mid', error: new KernelError('MODEL_FAILED', 'test: no') } }])

testModel('scriptedModel', sound, { failing })

const finish: ModelPart = { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }

const server = createServer((_request, response) => {
  for (const word of ['Hel', 'lo', '.']) response.write(word)
  response.end()
})
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** A model that gives the signal to fetch and streams what comes. */
const fetching = (): ChatModel => ({
  name: 'fetching',
  async *stream(_request, { signal }) {
    const { port } = server.address() as AddressInfo
    const { body } = await fetch(`http://127.0.0.1:${port}/`, { signal })
    for await (const bytes of body ?? []) yield { type: 'text-delta', delta: new TextDecoder().decode(bytes) }
    yield finish
  },
})

testModel('a model that gives the signal to fetch', fetching)

/** A model that changes the parts of a sound one. */
function altered(change: (parts: readonly ModelPart[]) => readonly ModelPart[]): () => ChatModel {
  return () => ({
    name: 'altered',
    async *stream(request, { signal }) {
      const parts: ModelPart[] = []
      for await (const part of sound().stream(request, { signal })) parts.push(part)
      for (const part of change(parts)) {
        signal.throwIfAborted()
        yield part
      }
    },
  })
}

const mutants: Record<
  string,
  { readonly make: () => ChatModel; readonly caught: string; readonly failing?: () => ChatModel }
> = {
  'it has no name': { make: () => ({ ...sound(), name: '' }), caught: 'has a name' },
  'finish is missing': { make: altered((parts) => parts.slice(0, -1)), caught: 'ends with exactly one finish' },
  'finish comes twice': { make: altered((parts) => [...parts, finish]), caught: 'ends with exactly one finish' },
  'text follows finish': {
    make: altered((parts) => [...parts, { type: 'text-delta', delta: 'more' }]),
    caught: 'ends with exactly one finish',
  },
  'a part has an unknown type': {
    make: altered((parts) => [{ type: 'chunk' } as never, ...parts]),
    caught: 'gives parts of known types, as plain JSON',
  },
  'a part is not JSON': {
    make: altered((parts) => [{ type: 'text-delta', delta: new Date() as never }, ...parts]),
    caught: 'gives parts of known types, as plain JSON',
  },
  'a delta belongs to no call': {
    make: altered((parts) => [{ type: 'tool-call-delta', callId: 'x', delta: '' }, ...parts]),
    caught: 'writes each tool call as start, deltas and end under one id',
  },
  'a call never ends': {
    make: altered((parts) => parts.filter(({ type }) => type !== 'tool-call-end')),
    caught: 'writes each tool call as start, deltas and end under one id',
  },
  'it counts tokens in fractions': {
    make: altered((parts) => parts.with(-1, { ...finish, usage: { inputTokens: 0.5, outputTokens: 1 } } as ModelPart)),
    caught: 'counts tokens in whole numbers',
  },
  'requests share what is open': {
    make: () => {
      let queue: ModelPart[] = []
      return {
        name: 'shared',
        async *stream(request, options) {
          for await (const part of sound().stream(request, options)) queue.push(part)
          const mine = queue
          await undefined
          queue = []
          yield* mine
        },
      }
    },
    caught: 'answers two requests at once without mixing them',
  },
  'it leaves a listener on the signal': {
    make: () => ({
      name: 'leaky',
      stream(request, { signal }) {
        signal.addEventListener('abort', () => undefined)
        return sound().stream(request, { signal })
      },
    }),
    caught: 'leaves no listener on the signal',
  },
  'it leaves a listener on the signal and calls fetch': {
    make: () => ({
      name: 'leaky',
      stream(request, { signal }) {
        signal.addEventListener('abort', () => undefined)
        return fetching().stream(request, { signal })
      },
    }),
    caught: 'leaves no listener on the signal',
  },
  'it does not look at the signal before it begins': {
    make: () => ({
      name: 'deaf',
      stream: (request) => sound().stream(request, { signal: new AbortController().signal }),
    }),
    caught: 'a signal that is aborted already ends the call at once, without a finish',
  },
  'it hangs when it is aborted': {
    make: () => ({
      name: 'stuck',
      async *stream(request, { signal }) {
        for await (const part of sound().stream(request, { signal: new AbortController().signal })) {
          yield part
          if (signal.aborted) await new Promise(() => undefined)
        }
      },
    }),
    caught: 'an abort after any part ends the call at once',
  },
  'it goes on when it is aborted': {
    make: () => ({
      name: 'deaf',
      stream(request, { signal }) {
        signal.throwIfAborted()
        return sound().stream(request, { signal: new AbortController().signal })
      },
    }),
    caught: 'an abort after any part ends the call at once',
  },
  'it cannot be left': {
    make: () => ({
      name: 'clingy',
      async *stream(request, options) {
        let done = false
        try {
          yield* sound().stream(request, options)
          done = true
        } finally {
          if (!done && !options.signal.aborted) await new Promise(() => undefined)
        }
      },
    }),
    caught: 'a reader may leave after any part',
  },
  'it changes the request': {
    make: () => ({
      name: 'rude',
      stream(request, options) {
        Object.assign(request, { instruction: 'Mine.' })
        return sound().stream(request, options)
      },
    }),
    caught: 'ends with exactly one finish',
  },
  'it fails with a bare error': {
    make: sound,
    failing: () => scriptedModel([{ error: { at: 'before', error: new Error('503') } }]),
    caught: 'fails with a KernelError whose code begins with MODEL_',
  },
}

describe('testModel', () => {
  it('holds for a sound model', async () => {
    expect(await broken(modelClauses(sound, { failing }))).toEqual([])
  })

  for (const [wrong, mutant] of Object.entries(mutants)) {
    it(`notices that ${wrong}`, async () => {
      await expectBroken(modelClauses(mutant.make, { failing: mutant.failing ?? failing }), [mutant.caught])
    })
  }
})
