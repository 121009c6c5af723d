import { describe, expect, test } from 'vitest'
import { defineTool, type ToolDefinition } from './index.ts'
import { systemClock, toolMetas } from './kit.ts'
import { type MemoryStoreOptions, memoryStore } from './memory-store.ts'
import { agentOf, input } from './run/run.fixture.ts'
import { createRunContext, type NestedOptions, type RunSettings, runNested, startRun } from './run.ts'

const agent = agentOf('a', async function* () {})
const settings: Required<RunSettings> = {
  session: { app: 'a', user: 'u', threadId: 't' },
  runId: 'r1',
  signal: new AbortController().signal,
  pending: 'reject',
  prepare: (ctx) => ctx,
  carry: { a: 1 },
  callbacks: [],
  clock: systemClock,
  state: {},
  canInterrupt: true,
  timeoutMs: 1000,
  report: () => {},
}
const definition: Required<ToolDefinition<{ type: 'object' }>> = {
  name: 't',
  displayName: 'T',
  description: 'd',
  parameters: { type: 'object' },
  kind: 'read',
  output: 'text',
  effect: 'pure',
  longRunning: false,
  onError: 'throw',
  needsApproval: () => false,
  invoke: () => 'x',
  async *stream() {},
  checkState: () => {},
}
const store: Required<MemoryStoreOptions> = { clock: systemClock }
const nested: Required<NestedOptions> = { forward: true, onEvent: () => {} }

const factories: readonly [string, (options: never) => unknown, object][] = [
  ['startRun', (options) => startRun(agent, input, options).then(undefined, () => undefined), settings],
  ['createRunContext', (options) => createRunContext(options), settings],
  ['memoryStore', (options) => memoryStore(options), store],
  ['defineTool', (options) => defineTool(options), definition],
  ['toolMetas', (options) => toolMetas([options]), { tool: definition, returnDirectly: true }],
]

describe.each(factories)('%s', (_, make, all) => {
  test('takes every option it has', () => {
    expect(() => make(all as never)).not.toThrow()
  })

  test.each(Object.keys(all))('refuses %s where it is misspelt', (name) => {
    const message = expect.stringMatching(new RegExp(`: unknown option ${name}x; did you mean ${name}\\?$`))
    expect(() => make({ ...all, [`${name}x`]: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message }),
    )
  })
})

test.each(Object.keys(nested))('runNested refuses %s where it is misspelt', async (name) => {
  const options = { ...nested, [`${name}s`]: 1 } as never
  await expect(runNested(agent, input, createRunContext(), options)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `runNested: unknown option ${name}s; did you mean ${name}?`,
  })
})

test.each([
  [{ maxIteration: 3 }, 'run of a: options: unknown option maxIteration; did you mean maxIterations?'],
  [{ maxSteps: 3 }, 'run of a: options: unknown option maxSteps; did you mean maxIterations?'],
  [{ model: { maxTokens: 3 } }, 'run of a: options.model: unknown option maxTokens; did you mean maxOutputTokens?'],
])('what a run is started with is checked too: %o', (options, message) => {
  expect(() => startRun(agent, { ...input, options } as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message }),
  )
})

test('a host keeps what it needs beside its members', async () => {
  const host = { mode: 'now' as const, seen: 0, cancelling: () => undefined }
  await expect(startRun(agent, input, {}, host)).resolves.toMatchObject({ outcome: 'complete' })
  class Host {
    readonly mode = 'now'
    readonly callbacks = []
  }
  await expect(startRun(agent, input, new Host())).resolves.toMatchObject({ outcome: 'complete' })
})
