import { type AgentHandler, type ChatModel, defineTool, KernelError, type Store, type Tool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import type { Clause } from '../clause.ts'
import { storeClauses } from '../store-suite/test-store.ts'
import { expectBroken } from './broken.fixture.ts'
import { agentClauses } from './test-agent.ts'
import { callbackClauses } from './test-callback.ts'
import { handlerClauses } from './test-handler.ts'
import { modelClauses } from './test-model.ts'
import { toolClauses } from './test-tool.ts'

const boom = () => {
  throw new Error('boom')
}
const weather = defineTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  kind: 'read',
  invoke: () => 'Sunny',
}) as Tool
const tool = (change: object, args = {}) =>
  toolClauses(() => ({ ...weather, ...change }) as Tool, { args: { city: 'Beijing', ...args } })
const model = (stream: unknown) => modelClauses(() => ({ name: 'broken', stream }) as ChatModel)
const suites: Record<string, (make: () => never) => readonly Clause[]> = {
  handler: handlerClauses,
  tool: (make) => toolClauses(make, { args: {} }),
  model: modelClauses,
  agent: agentClauses,
  callback: callbackClauses,
}

/** Plugins that fail before any clause can be tested: every clause that breaks names the cause, and nothing else. */
const causes: Record<string, { readonly clauses: readonly Clause[]; readonly says: RegExp }> = {
  'a tool that throws': {
    clauses: tool({ invoke: boom }),
    says: /^Your tool get_weather threw Error \(boom\) for the example arguments\.\nWhat to do: Fix that first/,
  },
  'a tool whose stream throws': {
    clauses: tool({ invoke: undefined, stream: boom }),
    says: /^Your tool get_weather threw Error \(boom\) for the example arguments\.\nWhat to do: Fix that first/,
  },
  'a tool whose stream is not a generator': {
    clauses: tool({ invoke: undefined, stream: async () => 'Sunny' }),
    says: /^stream\(\) of your tool get_weather gave a promise, which .*\.\nWhat to do: Write stream\(\) as an async generator: `async \*stream\(args, ctx\)/,
  },
  'a tool that refuses its example': {
    clauses: tool({}, { city: 1 }),
    says: /^Your tool get_weather refuses its example arguments: VALIDATION_FAILED .*\.\nWhat to do: Correct `parameters` of the tool, or `args`/,
  },
  'a model whose stream throws': {
    clauses: model(boom),
    says: /^stream\(\) of your model threw Error \(boom\)\.\nWhat to do: Fix that first/,
  },
  'a model that throws while it answers': {
    clauses: model(async function* () {
      yield { type: 'text-delta', delta: 'Hm' }
      boom()
    }),
    says: /^stream\(\) of your model threw Error \(boom\)\.\nWhat to do: Fix that first/,
  },
  'a model whose stream is not a generator': {
    clauses: model(async () => [{ type: 'text-delta', delta: 'Hi' }]),
    says: /^stream\(\) of your model gave a promise, not an async iterable\.\nWhat to do: Make stream\(\) an async generator: `async \*stream\(request, \{ signal \}\)/,
  },
  'a model without stream': {
    clauses: model(undefined),
    says: /^Your model has no stream\(\): got undefined\.\n/,
  },
  'a model that yields text': {
    clauses: model(async function* (_: unknown, { signal }: { signal: AbortSignal }) {
      signal.throwIfAborted()
      yield 'Hi'
    }),
    says: /^Your model gave "Hi" as a part\.\nWhat to do: Yield objects/,
  },
  'a store without members': {
    clauses: storeClauses(() => ({}) as Store),
    says: /^The store lacks threads, records, runLog, journal, leases, grants, \[Symbol\.asyncDispose\]\(\)\.\nWhat to do: Write these members first/,
  },
  'a store without a method': {
    clauses: storeClauses((clock) => {
      const { leases, ...store } = memoryStore({ clock })
      return { ...store, leases: { ...leases, renew: undefined as never } }
    }),
    says: /^The store lacks leases\.renew\(\)\.\n/,
  },
  'a store that is missing': {
    clauses: storeClauses(() => undefined as never),
    says: /^The factory gave undefined, which is not a store\.\nWhat to do: Return a Store/,
  },
  'a store whose factory throws': {
    clauses: storeClauses(boom),
    says: /^The factory of the store threw Error \(boom\)\.\nWhat to do: Fix that first/,
  },
}

for (const [kind, clausesOf] of Object.entries(suites)) {
  const a = kind === 'agent' ? 'an' : 'a'
  causes[`${a} ${kind} whose factory throws`] = {
    clauses: clausesOf(boom as () => never),
    says: /^make\(\) threw Error \(boom\)\.\nWhat to do: Fix that first/,
  }
  causes[`${a} ${kind} that is missing`] = {
    clauses: clausesOf(() => undefined as never),
    says: new RegExp(
      `^make\\(\\) gave undefined, which is not ${a} ${kind}\\.\\nWhat to do: Return the ${kind} from make`,
    ),
  }
  causes[`${a} ${kind} that is promised`] = {
    clauses: clausesOf((async () => ({})) as () => never),
    says: new RegExp(`^make\\(\\) gave a promise, which is not ${a} ${kind}\\.\\n`),
  }
}

describe('the first cause', () => {
  for (const [wrong, { clauses, says }] of Object.entries(causes)) {
    it(`is named for ${wrong}`, async () => {
      const complaints = await expectBroken(clauses, [])
      expect(complaints.size).toBeGreaterThan(0)
      for (const [name, message] of complaints) expect(message, name).toMatch(says)
    })
  }

  it('is the first clause of a store that is not one', async () => {
    expect(storeClauses(() => ({}) as Store)[0]?.name).toBe('is a store')
  })

  it('comes before the advice of a clause when a hook throws, and not when the kernel knows better', async () => {
    const name = 'afterAgent takes every outcome'
    const messageFor = async (error: Error) => {
      const handler: AgentHandler = {
        name: 'broken',
        afterAgent() {
          throw error
        },
      }
      return (
        await expectBroken(
          handlerClauses(() => handler),
          [name],
        )
      ).get(name)
    }
    expect(await messageFor(new Error('boom'))).toMatch(
      /^The plugin failed with Error \(boom\), .*\nWhat to do: Fix that first; .* If it still does not hold: Let afterAgent/,
    )
    expect(await messageFor(new KernelError('CONFIG_INVALID', 'test: no'))).toMatch(
      /\nWhat to do: Let afterAgent take runs/,
    )
  })

  it('tells the author of a sample in `invalid` that it may be the sample that is wrong', async () => {
    const name = 'refuses arguments that are not valid'
    const clauses = toolClauses(() => weather, { args: { city: 'Beijing' }, invalid: [{ city: 'Paris' }] })
    expect((await expectBroken(clauses, [name])).get(name)).toMatch(
      /^Your tool get_weather takes the arguments \{"city":"Paris"\}, which are in `invalid`\.\n.*or remove them from `invalid`/,
    )
  })
})
