import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defineTool, type RunContext, type Tool } from '@troupe/kernel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { broken, expectBroken } from './broken.fixture.ts'
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
testTool(
  'a tool that asks a person before it streams',
  () =>
    ({
      ...sound(),
      effect: 'once',
      invoke: undefined,
      async *stream(_args: unknown, ctx: RunContext) {
        yield String(await ctx.interrupt({ reason: 'input' }))
      },
    }) as unknown as Tool,
  options,
)

const server = createServer((_request, response) => response.end('Sunny'))
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
const fetching = calling(async (_args, { signal }) => {
  const { port } = server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}/`, { signal })
  return response.text()
})

testTool('a tool that gives the signal to fetch', fetching, options)

const never = () => new Promise<never>(() => undefined)

interface Mutant {
  readonly change: Partial<Record<keyof Tool, unknown>>
  readonly caught: string
  readonly says?: RegExp
}

const mutants: Record<string, Mutant> = {
  'it has no name': { change: { name: '' }, caught: 'is a valid definition' },
  'its schema is not a schema': { change: { parameters: { type: 'objekt' } }, caught: 'is a valid definition' },
  'its schema describes no object': {
    change: { parameters: { type: 'string' } },
    caught: 'shows the model a JSON Schema of an object',
  },
  'it refuses its own example': {
    change: { parameters: { type: 'object', required: ['town'] } },
    caught: 'accepts its example arguments',
  },
  'it takes anything': { change: { parameters: { type: 'object' } }, caught: 'refuses arguments that are not valid' },
  'it returns a function': { change: { invoke: () => () => 1 }, caught: 'gives text or any JSON value' },
  'its data is not JSON': {
    change: { invoke: () => ({ content: 'Sunny', data: { at: new Map() } }) },
    caught: 'gives text or any JSON value',
    says: /its result at \.data\.at is an instance of Map, which is not JSON/,
  },
  'it returns a map': {
    change: { invoke: () => new Map() },
    caught: 'gives text or any JSON value',
  },
  'it streams a part of an unknown type': {
    change: {
      async *stream() {
        yield { type: 'picture' }
      },
    },
    caught: 'gives text or any JSON value',
  },
  'it changes its arguments': {
    change: { invoke: (args: object) => JSON.stringify(Object.assign(args, { city: 'Paris' })) },
    caught: 'gives text or any JSON value',
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
  'it leaves a listener on the signal and calls fetch': {
    change: {
      effect: 'once',
      stream: undefined,
      async invoke(args: unknown, ctx: RunContext, call: never) {
        const text = await fetching().invoke?.(args, ctx, call)
        ctx.signal.addEventListener('abort', () => text)
        return text
      },
    },
    caught: 'leaves no listener on the signal',
    says: /^The tool left 5 abort listeners on the signal after 5 calls\.\nWhat to do: Remove each listener in a `finally`/,
  },
  'it is pure and sends an action': {
    change: {
      invoke(_args: unknown, ctx: RunContext) {
        ctx.sendAction({ type: 'transfer-to-agent', agentName: 'weather' })
        return 'Over to you.'
      },
    },
    caught: 'sends no action if it is pure',
    says: /^The tool says that it is pure, and sends the action .*transfer-to-agent.*\.\nWhat to do: Say `effect: 'once'`/,
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

  for (const [wrong, { change, caught, says = /./ }] of Object.entries(mutants)) {
    it(`notices that ${wrong}`, async () => {
      const complaints = await expectBroken(
        toolClauses(() => ({ ...sound(), ...change }) as Tool, options),
        [caught],
      )
      expect(complaints.get(caught)).toMatch(says)
    })
  }
})
