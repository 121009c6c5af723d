import {
  type AgentConfig,
  type AgentHandler,
  type HistoryRewrite,
  KernelError,
  type Message,
  type ModelPart,
  type RunContext,
  type RunResult,
  type StreamToolCallResult,
  stream,
  type Tool,
  type ToolMeta,
} from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { checkHandler, checkOptionNames, hookOf, toolMetas } from '@troupe/kernel/kit'
import { type Clause, register } from '../clause.ts'
import { demand, demandEqual, errorText, shown } from '../fault.ts'
import { answeredHistories, soundHistories } from './handler-histories.ts'
import { repeatClauses } from './handler-repeats.ts'
import { answer, callOf, drain, ECHO, failingStream, HISTORY, REQUEST, stop, streamOf } from './handler-stage.ts'
import { madeBy } from './made-by.ts'
import { callContext, demandName, frozen, promptly } from './patience.ts'
import { runHandler } from './run-handler.ts'
import { demandResult } from './test-tool.ts'

/** Options of `testHandler`: the arguments of the hooks. */
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

export function handlerClauses(factory: () => AgentHandler, options: TestHandlerOptions = {}): readonly Clause[] {
  const make = () => madeBy(factory, 'handler')
  const messages = frozen(structuredClone(options.messages ?? HISTORY))
  const metas = toolMetas(options.tools ?? [ECHO]).map((meta) => Object.freeze(meta))
  const prepare = options.prepare ?? ((ctx) => ctx)
  const context = () => prepare(callContext())
  const run = (handler: AgentHandler, runId: string) => runHandler(handler, runId, messages, metas, prepare)
  const before = soundHistories(messages)
  const after = answeredHistories(messages)
  const configure = async (handler: AgentHandler, history = messages): Promise<AgentConfig> => {
    const input = { messages: history }
    const config: AgentConfig = { instruction: 'Help.', tools: metas.slice(), input, runOptions: {} }
    const returned: unknown = await hookOf(handler, 'beforeAgent')?.(context(), config)
    demand(
      returned === undefined || (typeof returned === 'object' && returned !== null && 'get' in returned),
      `beforeAgent returns ${shown(returned)}, which is not a context`,
      'Return the context that `ctx.with(…)` gave you, or nothing. Change `config` in place.',
    )
    return config
  }
  return [
    {
      name: 'has a name, and hooks that are functions',
      todo: 'Write each hook as a method of the handler.',
      run: async () => {
        const handler = make()
        demandName(handler.name, 'handler')
        checkHandler(handler)
      },
    },
    {
      name: 'beforeAgent leaves a configuration that an agent can run with',
      todo: 'Leave in `config` what an agent needs: text as instruction, tools with names of their own, and messages.',
      run: async () => {
        const { instruction, tools, input, runOptions } = await configure(make())
        demand(
          typeof instruction === 'string',
          `beforeAgent left ${shown(instruction)} as config.instruction, not text`,
        )
        toolMetas(tools)
        demandPaired(input.messages, 'beforeAgent left in config.input.messages')
        if (!hookOf(make(), 'beforeAgent')) return
        for (const history of before) {
          const { input } = await configure(make(), history)
          demandPaired(input.messages, `beforeAgent left in config.input.messages, of ${history.length} messages,`)
        }
        const options: unknown = runOptions
        const isObject = typeof options === 'object' && options !== null
        demand(isObject, `beforeAgent left ${shown(options)} as config.runOptions, not an object`)
      },
    },
    {
      name: 'a second run does not build on the first',
      todo: KEEP_NOTHING,
      run: async () => {
        const alone = await run(make(), 'run-b')
        const handler = make()
        for (let i = 0; i < 3; i++) await run(handler, 'run-a')
        demandSameRun(await run(handler, 'run-b'), alone, 'after other runs')
      },
    },
    {
      name: 'two runs at once do not mix',
      todo: KEEP_NOTHING,
      run: async () => {
        const runIds = ['run-a', 'run-b', 'run-c']
        const alone = await Promise.all(runIds.map((runId) => run(make(), runId)))
        const handler = make()
        const together = await Promise.all(runIds.map((runId) => run(handler, runId)))
        together.forEach((given, i) => {
          demandSameRun(given, alone[i] ?? {}, 'beside other runs')
        })
      },
    },
    ...(['beforeModelRewriteHistory', 'afterModelRewriteHistory'] as const).map((hook) => ({
      name: `${hook} gives a history with calls and results in pairs, and changes none in place`,
      todo: 'Return a new list in which each tool call keeps its result; `repairHistory` of @troupe/kernel/history does that.',
      run: async () => {
        if (!hookOf(make(), hook)) return `the handler has no ${hook}`
        for (const history of hook === 'beforeModelRewriteHistory' ? before : after) {
          const rewritten = messagesOf(await hookOf(make(), hook)?.(context(), history), history)
          demandPaired(rewritten, `${hook} gave, of ${history.length} messages,`, history)
        }
      },
    })),
    {
      name: 'wrapInvokableToolCall gives a result for a call that succeeds and for one that fails',
      todo: 'Return what `next` gave, or a result of your own. A failed tool is `result.error`: pass it on, do not throw it.',
      run: async () => {
        const wrap = hookOf(make(), 'wrapInvokableToolCall')
        if (!wrap) return 'the handler has no wrapInvokableToolCall'
        const error = { code: 'TOOL_FAILED', message: 'no' }
        for (const result of [{ content: 'fine' }, { content: 'no', error }]) {
          const call = wrap(context(), callOf('c1'), async () => result)
          const outcome = await promptly('wrapInvokableToolCall did not settle', call)
          if ('value' in outcome) demandResult(outcome.value, 'wrapInvokableToolCall')
          else if (!KernelError.is(outcome.error, 'INTERRUPTED')) {
            const which = 'error' in result ? 'failed' : 'succeeded'
            demand(false, `wrapInvokableToolCall threw ${errorText(outcome.error)} for a tool call that ${which}`)
          }
        }
      },
    },
    {
      name: 'wrapInvokableToolCall does not mix calls at the same time',
      todo: 'Keep what belongs to a call in variables of the wrap: a model calls several tools at once.',
      run: async () => {
        const wrap = hookOf(make(), 'wrapInvokableToolCall')
        if (!wrap) return 'the handler has no wrapInvokableToolCall'
        const ids = Array.from({ length: 50 }, (_, i) => `call-${i}-of-50`)
        const results = await Promise.allSettled(
          ids.map((id, i) =>
            wrap(context(), callOf(id), async (_ctx, input) => {
              for (let turn = 0; turn < 50 - i; turn++) await undefined
              return { content: `result of ${input.callId}` }
            }),
          ),
        )
        results.forEach((result, i) => {
          const mixed = ids.find((id) => id !== ids[i] && JSON.stringify(result).includes(id))
          demand(mixed === undefined, `wrapInvokableToolCall gave ${ids[i]} the result of ${mixed}`)
        })
      },
    },
    ...repeatClauses(make, metas, prepare),
    ...(['INTERRUPTED', 'ABORTED'] as const).flatMap((code) => [
      {
        name: `wrapInvokableToolCall passes ${code} on`,
        todo: rethrow(code),
        run: async () => {
          const wrap = hookOf(make(), 'wrapInvokableToolCall')
          if (!wrap) return 'the handler has no wrapInvokableToolCall'
          const call = wrap(context(), callOf('c1'), () => Promise.reject(stop(code)))
          await demandPassed(code, 'wrapInvokableToolCall', call)
        },
      },
      {
        name: `wrapStreamableToolCall passes ${code} on`,
        todo: rethrow(code),
        run: async () => {
          const wrap = hookOf(make(), 'wrapStreamableToolCall')
          if (!wrap) return 'the handler has no wrapStreamableToolCall'
          const refused = wrap(context(), callOf('c1'), () => Promise.reject(stop(code)))
          await demandPassed(code, 'wrapStreamableToolCall', refused)
          const { stream: chunks, result } = await wrap(context(), callOf('c2'), async () => failingStream(stop(code)))
          result.catch(() => undefined)
          await promptly('The stream of wrapStreamableToolCall did not end', drain(chunks))
          await demandPassed(code, 'The result of wrapStreamableToolCall', result)
        },
      },
    ]),
    {
      name: 'wrapStreamableToolCall gives a result once its stream has ended or was left',
      todo: 'Return the `result` that `next` gave, or settle your own in the `finally` of the stream.',
      run: async () => {
        const wrap = hookOf(make(), 'wrapStreamableToolCall')
        if (!wrap) return 'the handler has no wrapStreamableToolCall'
        const read = await wrap(context(), callOf('c-read'), async () => streamOf('a', 'b', 'c'))
        await drain(read.stream)
        await demandStreamedResult(read, 'has ended')
        const left = await wrap(context(), callOf('c-left'), async () => streamOf('a', 'b', 'c'))
        for await (const _ of left.stream) break
        await demandStreamedResult(left, 'was left')
      },
    },
    {
      name: 'wrapModelCall ends with exactly one finish',
      todo: 'Pass the finish of `next` on as the last part, exactly once.',
      run: async () => {
        const wrap = hookOf(make(), 'wrapModelCall')
        if (!wrap) return 'the handler has no wrapModelCall'
        const parts: ModelPart[] = []
        for await (const part of wrap(context(), REQUEST, () => answer())) parts.push(part)
        const finishes = parts.filter(({ type }) => type === 'finish').length
        demand(finishes === 1, `wrapModelCall gave ${finishes} parts of type finish, where exactly one is right`)
        const last = parts.at(-1)?.type
        demand(last === 'finish', `wrapModelCall gave a part of type ${last} after the finish`)
      },
    },
    {
      name: 'wrapModelCall passes ABORTED on',
      todo: rethrow('ABORTED'),
      run: async () => {
        const wrap = hookOf(make(), 'wrapModelCall')
        if (!wrap) return 'the handler has no wrapModelCall'
        const next = () => stream<ModelPart>(() => Promise.reject(stop('ABORTED')))
        await demandPassed('ABORTED', 'wrapModelCall', drain(wrap(context(), REQUEST, next)))
      },
    },
    {
      name: 'afterAgent takes every outcome',
      todo: 'Let afterAgent take runs that are complete, failed, cancelled or interrupted, and change nothing in the result.',
      run: async () => {
        const handler = make()
        const usage = { inputTokens: 0, outputTokens: 0 }
        for (const outcome of ['complete', 'failed', 'cancelled', 'interrupted'] satisfies RunResult['outcome'][]) {
          await configure(handler)
          await hookOf(handler, 'afterAgent')?.(context(), frozen({ outcome, text: '', messages: [], usage }))
        }
      },
    },
  ]
}

const KEEP_NOTHING =
  'Keep nothing in the handler that belongs to a run: make a key with `contextKey`, put the value into the context in beforeAgent (`return ctx.with(KEY, …)`) and read it with `ctx.get(KEY)`.'

function rethrow(code: string): string {
  const why = code === 'INTERRUPTED' ? 'a person has been asked, and the run stops there' : 'the run is being stopped'
  return `Rethrow it: if (KernelError.is(error, '${code}')) throw error. It means that ${why}.`
}

async function demandPassed(code: string, who: string, work: PromiseLike<unknown>): Promise<void> {
  const outcome = await promptly(`${who} did not settle after ${code}`, work)
  const became = 'error' in outcome ? `threw ${errorText(outcome.error)} instead` : 'went on'
  const passed = 'error' in outcome && KernelError.is(outcome.error, code)
  demand(passed, `${who} caught ${code} and ${became}`)
}

async function demandStreamedResult({ result }: StreamToolCallResult, how: string): Promise<void> {
  const wrong = `The stream of wrapStreamableToolCall ${how}, and its result did not settle`
  const outcome = await promptly(wrong, result)
  if ('error' in outcome) throw outcome.error
  demandResult(outcome.value, 'wrapStreamableToolCall')
}

/** Contract: calls of the last message of `before` have no results yet. */
function demandPaired(messages: readonly Message[], who: string, before: readonly Message[] = []): void {
  demand(Array.isArray(messages), `${who} ${shown(messages)}, not a list of messages`)
  const last = before.at(-1)
  const awaiting = last?.role === 'assistant' ? last.toolCalls?.map(({ id }) => id) : undefined
  const paired = repairHistory(messages, { awaiting: awaiting ?? [] }) === messages
  demand(paired, `${who} a history in which a tool call lacks its result, or a result its call: ${shown(messages)}`)
}

function demandSameRun(run: HookOutcomes, alone: HookOutcomes, when: string): void {
  for (const [hook, given] of Object.entries(alone)) {
    demandEqual(run[hook], given, `The handler keeps state between runs: ${when}, ${hook} gave something else`)
  }
}

type HookOutcomes = Awaited<ReturnType<typeof runHandler>>

function messagesOf(rewrite: HistoryRewrite, before: readonly Message[]): readonly Message[] {
  if (rewrite === undefined) return before
  return 'messages' in rewrite ? rewrite.messages : rewrite
}
