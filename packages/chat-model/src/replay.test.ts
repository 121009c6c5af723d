import {
  type Agent,
  type AgentHandler,
  defineTool,
  type Json,
  KernelError,
  type RunContext,
  type Tool,
  type ToolOutput,
  withAfterModelRewriteHistory,
  withBeforeModelRewriteHistory,
} from '@troupe/kernel'
import { runNested } from '@troupe/kernel/run'
import { type ScriptedTurn, scriptedModel, testReplay } from '@troupe/testkit'
import { type ChatModelAgentOptions, chatModelAgent, exitTool } from './index.ts'

type Script = { readonly [step: string]: ScriptedTurn | (() => ScriptedTurn) }

/** An agent that is made anew, with a model that answers by step. */
const agentOf = (script: Script, options: Partial<ChatModelAgentOptions> = {}): Agent =>
  chatModelAgent({ name: 'a', model: scriptedModel(script), ...options })

const calling = (...names: readonly string[]) => ({ toolCalls: names.map((name) => ({ name })) })

const toolOf = (
  name: string,
  invoke: (ctx: RunContext) => ToolOutput | Promise<ToolOutput>,
  options: Partial<Tool> = {},
): Tool => ({
  ...defineTool({ name, description: name, parameters: { type: 'object' }, invoke: (_, ctx) => invoke(ctx) }),
  ...options,
})

const look = toolOf('look', () => 'A cat.')

testReplay('tool calls, one after the other and side by side', () =>
  agentOf(
    {
      'model:0': { text: ['I', ' look'], reasoning: ['hm', '…'], ...calling('look') },
      'model:1': calling('look', 'look', 'slow'),
      'model:2': 'Done.',
    },
    { tools: [look, toolOf('slow', async () => Promise.resolve().then(() => 'A snail.'))] },
  ),
)

testReplay('tools that fail, are unknown, or get wrong arguments', () =>
  agentOf(
    { 'model:0': calling('fail', 'unknown', 'strict'), 'model:1': 'Done.' },
    {
      tools: [
        toolOf('fail', () => {
          throw new KernelError('NO_CATS', 'no cats', { details: { cats: 0 } })
        }),
        toolOf('strict', () => 'fine', {
          parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        }),
      ],
    },
  ),
)

testReplay('a tool whose error ends the run', () =>
  agentOf(
    { 'model:0': calling('fail', 'look') },
    {
      tools: [
        look,
        toolOf('fail', () => Promise.reject(Object.assign(new Error('declined'), { code: 'DECLINED' })), {
          onError: 'throw',
        }),
      ],
    },
  ),
)

const streaming = (name: string, chunks: readonly string[], result?: string): Tool => ({
  ...look,
  name,
  async *stream() {
    yield* chunks
    return result
  },
})

testReplay('tools that stream', () =>
  agentOf(
    { 'model:0': calling('text', 'other'), 'model:1': 'Done.' },
    { tools: [streaming('text', ['A', ' cat.']), streaming('other', ['A', ' cat.'], 'A dog.')] },
  ),
)

/** Counts in the state, `turns` microtasks after it was called. */
const counting = (name: string, turns: number) =>
  toolOf(name, async (ctx) => {
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    ctx.state.set('count', Number(ctx.state.get('count') ?? 0) + 1)
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    ctx.state.delete('old')
    return 'counted'
  })

testReplay(
  'calls side by side that write the same state',
  () =>
    agentOf(
      { 'model:0': calling('quick', 'slow', 'quick'), 'model:1': calling('slow'), 'model:2': 'Done.' },
      { tools: [counting('quick', 0), counting('slow', 20)] },
    ),
  { settings: { state: { old: true } } },
)

testReplay('calls that make ids of their own', () =>
  agentOf(
    { 'model:0': calling('id', 'look'), 'model:1': calling('id'), 'model:2': 'Done.' },
    { tools: [look, toolOf('id', (ctx) => ctx.ids.next())] },
  ),
)

testReplay('a call that ends the run, beside others', () =>
  agentOf(
    { 'model:0': { toolCalls: [{ name: 'exit', arguments: { result: 'bye' } }, { name: 'look' }] } },
    { tools: [look, exitTool()] },
  ),
)

testReplay('actions that decide nothing', () =>
  agentOf(
    { 'model:0': calling('note', 'look'), 'model:1': 'Done.' },
    {
      tools: [
        look,
        toolOf('note', (ctx) => {
          ctx.sendAction({ type: 'note', data: 1 } as never)
          return 'noted'
        }),
      ],
    },
  ),
)

testReplay('a result that is returned directly', () =>
  agentOf({ 'model:0': calling('look') }, { tools: [{ tool: look, returnDirectly: true }] }),
)

const ask = toolOf('ask', async (ctx) => `${await ctx.interrupt({ reason: 'input' })}`)

testReplay(
  'a question beside other calls, and its answer',
  () =>
    agentOf(
      { 'model:0': calling('look', 'ask', 'count'), 'model:1': calling('look'), 'model:2': 'Done.' },
      {
        tools: [
          look,
          ask,
          toolOf('count', (ctx) => {
            ctx.state.set('asked', true)
            return 'counted'
          }),
        ],
      },
    ),
  { answer: (interrupts) => Object.fromEntries(interrupts.map(({ id }) => [id, 'Ann'])) },
)

testReplay(
  'approvals, and what a person makes of them',
  () =>
    agentOf(
      { 'model:0': calling('pay', 'look', 'send'), 'model:1': 'Done.' },
      {
        tools: [
          look,
          toolOf('pay', () => 'paid', { needsApproval: async () => true }),
          toolOf('send', () => 'sent', { needsApproval: () => true }),
        ],
      },
    ),
  { answer: (interrupts) => Object.fromEntries(interrupts.map(({ id }, i) => [id, { approved: i === 0 }])) },
)

let decisions = 0
testReplay('an approval that cannot be decided', () =>
  agentOf(
    { 'model:0': calling('pay'), 'model:1': 'Done.' },
    {
      tools: [
        toolOf('pay', () => 'paid', {
          // It would be decided if it were asked for again.
          needsApproval: () => {
            if (decisions++ % 2 === 0) throw new Error('the rates are away')
            return false
          },
        }),
      ],
    },
  ),
)

testReplay('a model that fails', () =>
  agentOf(
    {
      'model:0': calling('look'),
      'model:1': { text: 'Hal', error: { at: 'mid', error: new KernelError('MODEL_AUTH_FAILED', 'the key is wrong') } },
    },
    { tools: [look], retry: false },
  ),
)

testReplay('a model that is asked again after a failure', () => {
  let calls = 0
  return agentOf(
    {
      'model:0': () =>
        calls++ === 0
          ? {
              text: 'Hal',
              error: { at: 'mid', error: new KernelError('MODEL_OVERLOADED', 'busy', { retryable: true }) },
            }
          : calling('look'),
      'model:1': 'Done.',
    },
    { tools: [look], retry: () => 0 },
  )
})

testReplay('answers that have to be corrected', () =>
  agentOf(
    { 'model:0': calling('look'), 'model:1': '{"cats": "many"}', 'model:2': '{"cats": 1}' },
    {
      tools: [look],
      output: { type: 'object', properties: { cats: { type: 'number' } }, required: ['cats'] },
    },
  ),
)

/** Adds a message to each request, with an id of the run; counts the requests in the state, and keeps which one it is. */
const reminding: AgentHandler = {
  name: 'reminding',
  async *wrapModelCall(ctx, request, next) {
    ctx.state.set('requests', Number(ctx.state.get('requests') ?? 0) + 1)
    ctx.state.set(request.step, await ctx.perform('step', async () => request.step))
    const reminder = { id: ctx.ids.next(), role: 'user', content: 'Be kind.' } as const
    yield* next(ctx, { ...request, messages: [...request.messages, reminder] })
  },
}

testReplay('handlers that rewrite, and wraps that make ids', () =>
  agentOf(
    { 'model:0': calling('look'), 'model:1': calling('look', 'look'), 'model:2': 'Done.' },
    {
      tools: [look],
      handlers: [
        reminding,
        withBeforeModelRewriteHistory((_ctx, messages) => messages.filter(({ id }) => id !== 'noise')),
        withAfterModelRewriteHistory((_ctx, messages) => {
          const last = messages.at(-1)
          return last?.role === 'assistant' && typeof last.content === 'string'
            ? messages.with(-1, { ...last, content: last.content.toUpperCase() })
            : messages
        }),
      ],
    },
  ),
)

const inner = () =>
  agentOf(
    { 'model:0': calling('look', 'count'), 'model:1': 'Inner.' },
    {
      name: 'inner',
      tools: [
        look,
        toolOf('count', (ctx) => {
          ctx.state.set('inner', 1)
          return ctx.ids.next()
        }),
      ],
    },
  )

testReplay('a tool that runs an agent twice', () =>
  agentOf(
    { 'model:0': calling('delegate', 'look'), 'model:1': 'Done.' },
    {
      tools: [
        look,
        toolOf(
          'delegate',
          async (ctx) => {
            const texts = [await runNested(inner(), 'Hi', ctx), await runNested(inner(), 'Ho', ctx)]
            return texts.map(({ text }) => text).join(' ')
          },
          { effect: 'nested' },
        ),
      ],
    },
  ),
)

testReplay(
  'a question of an agent inside a tool',
  () =>
    agentOf(
      { 'model:0': calling('delegate', 'look'), 'model:1': 'Done.' },
      {
        tools: [
          look,
          toolOf(
            'delegate',
            async (ctx) => {
              const asking = agentOf(
                { 'model:0': calling('ask', 'look'), 'model:1': 'Inner.' },
                { name: 'asking', tools: [ask, look] },
              )
              return (await runNested(asking, 'Hi', ctx)).text
            },
            { effect: 'nested' },
          ),
        ],
      },
    ),
  { answer: (interrupts) => Object.fromEntries(interrupts.map(({ id }) => [id, 'Ann' as Json])) },
)
