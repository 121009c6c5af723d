import { defineTool, type RunContext, type Tool } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { broken } from './broken.ts'
import { type TestToolOptions, testTool, toolClauses } from './test-tool.ts'

const options: TestToolOptions = { args: { city: 'Beijing' }, invalid: [{}, { city: 1 }] }

const sound = () =>
  defineTool({
    name: 'get_weather',
    description: 'The weather in a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    kind: 'read',
    effect: 'pure',
    needsApproval: () => false,
    invoke: ({ city }) => ({ content: `Sunny in ${city}.`, data: { city } }),
    async *stream({ city }) {
      yield 'Sunny in '
      yield { type: 'text', text: `${city}.` }
    },
  }) as Tool

testTool('a tool that does all there is', sound, options)

const calling = (invoke: Tool['invoke']) => () =>
  ({ ...sound(), effect: 'once', stream: undefined, invoke }) as unknown as Tool

testTool(
  'a tool that ends the run',
  calling((_args, ctx) => {
    ctx.sendAction({ type: 'exit' })
    return 'Bye.'
  }),
  options,
)
testTool(
  'a tool that asks a person',
  calling(async (_args, ctx) => String(await ctx.interrupt({ reason: 'input' }))),
  options,
)

const never = () => new Promise<never>(() => undefined)

const mutants: Record<string, { readonly change: Partial<Record<keyof Tool, unknown>>; readonly caught: string }> = {
  'it has no name': { change: { name: '' }, caught: 'is a valid definition' },
  'its schema is no schema': { change: { parameters: { type: 'objekt' } }, caught: 'is a valid definition' },
  'its schema describes no object': {
    change: { parameters: { type: 'string' } },
    caught: 'shows the model a JSON Schema of an object',
  },
  'it refuses its own example': {
    change: { parameters: { type: 'object', required: ['town'] } },
    caught: 'accepts its example arguments',
  },
  'it takes anything': { change: { parameters: { type: 'object' } }, caught: 'refuses arguments that are not valid' },
  'it returns a function': { change: { invoke: () => () => 1 }, caught: 'gives text or a result made of plain JSON' },
  'its data is no JSON': {
    change: { invoke: () => ({ content: 'Sunny', data: { at: new Map() } }) },
    caught: 'gives text or a result made of plain JSON',
  },
  'it streams a part of an unknown type': {
    change: {
      async *stream() {
        yield { type: 'picture' }
      },
    },
    caught: 'gives text or a result made of plain JSON',
  },
  'it changes its arguments': {
    change: { invoke: (args: object) => JSON.stringify(Object.assign(args, { city: 'Paris' })) },
    caught: 'gives text or a result made of plain JSON',
  },
  'it leaves a listener on the signal': {
    change: {
      invoke(_args: unknown, { signal }: RunContext) {
        signal.addEventListener('abort', () => undefined)
        return 'Sunny'
      },
    },
    caught: 'leaves no listener on the signal',
  },
  'it hangs when it is aborted': {
    change: {
      async invoke(_args: unknown, { signal }: RunContext) {
        await new Promise((resolve) => setImmediate(resolve))
        return signal.aborted ? never() : 'Sunny'
      },
    },
    caught: 'settles at once when it is aborted',
  },
  'it looks at the signal only once': {
    change: {
      async invoke(_args: unknown, { signal }: RunContext) {
        signal.throwIfAborted()
        await new Promise((resolve) => setTimeout(resolve, 2_000).unref())
        return 'Sunny'
      },
    },
    caught: 'settles at once when it is aborted',
  },
  'it says maybe': {
    change: { needsApproval: () => 'maybe' },
    caught: 'says yes or no when asked whether it needs approval',
  },
  'it says it is pure and counts': {
    change: { invoke: counter() },
    caught: 'gives calls at the same time the results they would have alone, if it is pure',
  },
  'its stream cannot be left': {
    change: {
      async *stream() {
        let done = false
        try {
          yield 'Sunny'
          done = true
        } finally {
          if (!done) await never()
        }
      },
    },
    caught: 'can be left while it streams',
  },
}

function counter(): () => string {
  let count = 0
  return () => `Sunny ${++count}`
}

describe('testTool', () => {
  it('holds for a sound tool', async () => {
    expect(await broken(toolClauses(sound, options))).toEqual([])
  })

  for (const [wrong, { change, caught }] of Object.entries(mutants)) {
    it(`notices that ${wrong}`, async () => {
      expect(await broken(toolClauses(() => ({ ...sound(), ...change }) as Tool, options))).toContain(caught)
    })
  }
})
