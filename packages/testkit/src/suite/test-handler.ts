import {
  type AgentConfig,
  type AgentHandler,
  checkHandler,
  checkOptionNames,
  type HistoryRewrite,
  hookOf,
  KernelError,
  type Message,
  type ModelPart,
  type RunContext,
  type RunResult,
  type StreamToolCallResult,
  stream,
  type Tool,
  type ToolCallInput,
  type ToolMeta,
  toolMetas,
} from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { expect } from 'vitest'
import { type Clause, register } from '../clause.ts'
import { callContext, frozen, promptly } from './patience.ts'
import { checkResult } from './test-tool.ts'

/** What a handler's hooks are called with during its suite. */
export interface TestHandlerOptions {
  /** @default a question, a tool call with its result, and an answer */
  readonly messages?: readonly Message[]
  /** Tools of the agent it handles. @default one that echoes */
  readonly tools?: readonly (Tool | ToolMeta)[]
  /** Puts the values into the context that the handler reads. */
  readonly prepare?: (ctx: RunContext) => RunContext
}

/**
 * The contract of `AgentHandler` as tests; hooks that the handler does not have are passed over.
 * @example testHandler('shout', () => shout())
 */
export function testHandler(name: string, make: () => AgentHandler, options: TestHandlerOptions = {}): void {
  checkOptionNames('testHandler', options, { messages: true, tools: true, prepare: true })
  register(name, handlerClauses(make, options))
}

export function handlerClauses(make: () => AgentHandler, options: TestHandlerOptions = {}): readonly Clause[] {
  const messages = frozen(structuredClone(options.messages ?? HISTORY))
  const metas = toolMetas(options.tools ?? [ECHO]).map((meta) => Object.freeze(meta))
  const context = () => (options.prepare ?? ((ctx) => ctx))(callContext())
  const configure = async (handler: AgentHandler): Promise<AgentConfig> => {
    const config: AgentConfig = { instruction: 'Help.', tools: metas.slice(), input: { messages }, runOptions: {} }
    const returned = await hookOf(handler, 'beforeAgent')?.(context(), config)
    if (returned !== undefined) expect(returned.get, 'beforeAgent returns a context or nothing').toBeTypeOf('function')
    return config
  }
  return [
    {
      name: 'has a name, and hooks that are functions',
      run: async () => {
        const handler = make()
        expect(handler.name).toEqual(expect.stringMatching(/\S/))
        checkHandler(handler)
      },
    },
    {
      name: 'beforeAgent leaves a configuration that an agent can run with',
      run: async () => {
        const config = await configure(make())
        expect(typeof config.instruction).toBe('string')
        toolMetas(config.tools)
        expect(Array.isArray(config.input.messages)).toBe(true)
        expect(repairHistory(config.input.messages), 'calls and results in pairs').toBe(config.input.messages)
        expect(typeof config.runOptions).toBe('object')
      },
    },
    {
      name: 'beforeAgent of a second run does not build on the first',
      run: async () => {
        const handler = make()
        const names = ({ tools }: AgentConfig) => tools.map(({ tool }) => tool.name)
        const first = names(await configure(handler))
        expect(names(await configure(handler))).toEqual(first)
      },
    },
    ...(['beforeModelRewriteHistory', 'afterModelRewriteHistory'] as const).map((hook) => ({
      name: `${hook} gives a history with calls and results in pairs, and changes none in place`,
      run: async () => {
        const rewrite = hookOf(make(), hook)
        if (!rewrite) return
        const endings = hook === 'beforeModelRewriteHistory' ? [messages, messages.slice(0, 1), []] : [messages]
        for (const history of endings) {
          const rewritten = messagesOf(await rewrite(context(), frozen(history)), history)
          expect(Array.isArray(rewritten), 'messages').toBe(true)
          expect(repairHistory(rewritten), 'calls and results in pairs').toBe(rewritten)
        }
      },
    })),
    {
      name: 'wrapInvokableToolCall gives a result for a call that succeeds and for one that fails',
      run: async () => {
        const wrap = hookOf(make(), 'wrapInvokableToolCall')
        if (!wrap) return
        const error = { code: 'TOOL_FAILED', message: 'no' }
        for (const result of [{ content: 'fine' }, { content: 'no', error }]) {
          const outcome = await promptly(
            'a wrapped call',
            wrap(context(), callOf('c1'), async () => result),
          )
          if ('value' in outcome) checkResult(outcome.value)
          else if (!KernelError.is(outcome.error, 'INTERRUPTED')) throw outcome.error
        }
      },
    },
    {
      name: 'wrapInvokableToolCall does not mix calls at the same time',
      run: async () => {
        const wrap = hookOf(make(), 'wrapInvokableToolCall')
        if (!wrap) return
        const ids = Array.from({ length: 50 }, (_, i) => `call-${i}.`)
        const results = await Promise.allSettled(
          ids.map((id, i) =>
            wrap(context(), callOf(id), async (_ctx, input) => {
              for (let turn = 0; turn < 50 - i; turn++) await undefined
              return { content: `result of ${input.callId}` }
            }),
          ),
        )
        results.forEach((result, i) => {
          const text = JSON.stringify(result)
          for (const id of ids) if (id !== ids[i]) expect(text, `the result of ${ids[i]}`).not.toContain(id)
        })
      },
    },
    ...(['INTERRUPTED', 'ABORTED'] as const).flatMap((code) => [
      {
        name: `wrapInvokableToolCall passes ${code} on`,
        run: async () => {
          const wrap = hookOf(make(), 'wrapInvokableToolCall')
          if (wrap)
            await expectPassed(
              code,
              wrap(context(), callOf('c1'), () => Promise.reject(stop(code))),
            )
        },
      },
      {
        name: `wrapStreamableToolCall passes ${code} on`,
        run: async () => {
          const wrap = hookOf(make(), 'wrapStreamableToolCall')
          if (!wrap) return
          await expectPassed(
            code,
            wrap(context(), callOf('c1'), () => Promise.reject(stop(code))),
          )
          const { stream: chunks, result } = await wrap(context(), callOf('c2'), async () => failingStream(stop(code)))
          result.catch(() => undefined)
          await promptly('the stream', drain(chunks))
          await expectPassed(code, result)
        },
      },
    ]),
    {
      name: 'wrapStreamableToolCall gives a result once its stream has ended or was left',
      run: async () => {
        const wrap = hookOf(make(), 'wrapStreamableToolCall')
        if (!wrap) return
        for (const leave of [false, true]) {
          const call = await wrap(context(), callOf(`c-${leave}`), async () => streamOf('a', 'b', 'c'))
          for await (const _ of call.stream) if (leave) break
          const outcome = await promptly('the result of a streamed call', call.result)
          if ('error' in outcome) throw outcome.error
          checkResult(outcome.value)
        }
      },
    },
    {
      name: 'wrapModelCall ends with exactly one finish',
      run: async () => {
        const wrap = hookOf(make(), 'wrapModelCall')
        if (!wrap) return
        const parts: ModelPart[] = []
        for await (const part of wrap(context(), REQUEST, () => answer())) parts.push(part)
        expect(parts.at(-1)?.type).toBe('finish')
        expect(parts.filter(({ type }) => type === 'finish')).toHaveLength(1)
      },
    },
    {
      name: 'wrapModelCall passes ABORTED on',
      run: async () => {
        const wrap = hookOf(make(), 'wrapModelCall')
        if (!wrap) return
        const next = () => stream<ModelPart>(() => Promise.reject(stop('ABORTED')))
        await expectPassed('ABORTED', drain(wrap(context(), REQUEST, next)))
      },
    },
    {
      name: 'afterAgent takes every outcome',
      run: async () => {
        const handler = make()
        const usage = { inputTokens: 0, outputTokens: 0 }
        for (const outcome of ['complete', 'failed', 'cancelled', 'interrupted'] satisfies RunResult['outcome'][]) {
          await configure(handler)
          await hookOf(handler, 'afterAgent')?.(context(), frozen({ outcome, text: '', usage }))
        }
      },
    },
  ]
}

const ECHO: Tool = {
  name: 'echo',
  description: 'Gives back what it gets.',
  parameters: { type: 'object', properties: { text: { type: 'string' } } },
  kind: 'think',
  effect: 'pure',
  invoke: () => 'echo',
}

const HISTORY: readonly Message[] = [
  { id: 'm1', role: 'user', content: 'Say it again.' },
  { id: 'm2', role: 'assistant', content: '', toolCalls: [{ id: 'c0', name: 'echo', arguments: '{"text":"it"}' }] },
  { id: 'm3', role: 'tool', callId: 'c0', name: 'echo', content: 'it' },
  { id: 'm4', role: 'assistant', content: 'It.' },
]

const REQUEST = { instruction: '', messages: HISTORY, tools: [], options: {}, step: 'model:0', idempotencyKey: 'k' }

function callOf(callId: string): ToolCallInput {
  const step = `tool:0:${callId}`
  return { name: 'echo', arguments: `{"text":"${callId}"}`, callId, step, idempotencyKey: callId, tool: ECHO }
}

function stop(code: string): KernelError {
  return new KernelError(code, 'test: stop')
}

async function expectPassed(code: string, work: PromiseLike<unknown>): Promise<void> {
  const outcome = await promptly(`passing ${code} on`, work)
  expect('error' in outcome && KernelError.is(outcome.error, code), `rejects with ${code}`).toBe(true)
}

function messagesOf(rewrite: HistoryRewrite, before: readonly Message[]): readonly Message[] {
  if (rewrite === undefined) return before
  return 'messages' in rewrite ? rewrite.messages : rewrite
}

function streamOf(...chunks: readonly string[]): StreamToolCallResult {
  const { promise: result, resolve } = Promise.withResolvers<{ content: string }>()
  const text = async function* () {
    try {
      yield* chunks
    } finally {
      resolve({ content: chunks.join('') })
    }
  }
  return { stream: text(), result }
}

function failingStream(error: KernelError): StreamToolCallResult {
  const result = Promise.reject(error)
  result.catch(() => undefined)
  const chunks = async function* () {
    yield 'a'
    throw error
  }
  return { stream: chunks(), result }
}

async function* answer(): AsyncGenerator<ModelPart> {
  yield { type: 'text-delta', delta: 'It' }
  yield { type: 'text-delta', delta: '.' }
  yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
}

async function drain(source: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of source);
}
