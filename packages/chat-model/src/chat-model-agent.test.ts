import type { AgentHandler } from '@troupe/kernel'
import { mapStream } from '@troupe/kernel/kit'
import { scriptedModel, testAgent } from '@troupe/testkit'
import { z } from 'zod'
import { calling, streaming, tool } from './chat-model.fixture.ts'
import { chatModelAgent } from './index.ts'

const scripted = (...turns: Parameters<typeof scriptedModel>[0]) => scriptedModel(turns, { repeat: true })

testAgent('chatModelAgent: plain text', () =>
  chatModelAgent({ name: 'plain', model: scripted({ reasoning: 'Hm.', text: ['Hel', 'lo.'] }) }),
)

testAgent('chatModelAgent: parallel tools', () =>
  chatModelAgent({
    name: 'parallel',
    model: scripted(calling('a', 'b', 'c', 'ghost'), 'Done.'),
    tools: ['a', 'b', 'c'].map((name) => tool(name, async () => `${name} done`)),
  }),
)

testAgent('chatModelAgent: sequential tools', () =>
  chatModelAgent({
    name: 'sequential',
    model: scripted(calling('a', 'b'), 'Done.'),
    tools: [tool('a'), tool('b')],
    toolConcurrency: 1,
  }),
)

testAgent('chatModelAgent: a streaming tool', () =>
  chatModelAgent({
    name: 'streaming',
    model: scripted(calling('s', 't'), 'Done.'),
    tools: [streaming('s'), tool('t')],
  }),
)

const everyHook: AgentHandler = {
  name: 'every',
  async beforeAgent(_ctx, config) {
    config.instruction += ' More.'
  },
  beforeModelRewriteHistory: async (_ctx, messages) => messages.slice(),
  afterModelRewriteHistory: async (ctx, messages) => ({ messages, ctx }),
  wrapInvokableToolCall: (ctx, input, next) => next(ctx, input),
  wrapStreamableToolCall: (ctx, input, next) => next(ctx, input),
  wrapModelCall: (ctx, request, next) => mapStream(next(ctx, request), (part) => part),
  async afterAgent() {},
}

testAgent('chatModelAgent: handlers with every hook', () =>
  chatModelAgent({
    name: 'handled',
    model: scripted(calling('s', 't'), 'Done.'),
    tools: [streaming('s'), tool('t')],
    handlers: [everyHook, everyHook],
    middlewares: [{ beforeChatModel() {}, afterChatModel() {}, wrapToolCall: { invokable: (next) => next } }],
  }),
)

testAgent('chatModelAgent: structured output', () =>
  chatModelAgent({
    name: 'structured',
    model: scripted('not yet', '{"n":1}'),
    output: z.object({ n: z.number() }),
  }),
)

testAgent('chatModelAgent: return-directly', () =>
  chatModelAgent({
    name: 'direct',
    model: scripted(calling('d', 't')),
    tools: [{ tool: tool('d'), returnDirectly: true }, tool('t')],
  }),
)

testAgent('chatModelAgent: exit', () =>
  chatModelAgent({
    name: 'exiting',
    model: scripted({ toolCalls: [{ id: 'x', name: 'exit', arguments: { final_result: 'Bye.' } }] }),
    exit: true,
  }),
)

testAgent('chatModelAgent: an open long-running call', () =>
  chatModelAgent({
    name: 'waiting',
    model: scripted(calling('slow', 't')),
    tools: [tool('slow', undefined, { longRunning: true }), tool('t')],
  }),
)

testAgent(
  'chatModelAgent: an interrupt',
  () =>
    chatModelAgent({
      name: 'asking',
      model: scripted(calling('guarded', 'ask', 't')),
      tools: [
        tool('guarded', undefined, { needsApproval: () => true }),
        tool('ask', async (_, ctx) => `${await ctx.interrupt({ reason: 'input' })}`),
        tool('t'),
      ],
    }),
  { settings: { canInterrupt: true } },
)

testAgent('chatModelAgent: a retried model call', () =>
  chatModelAgent({
    name: 'retrying',
    model: scripted({ text: ['Half ', 'an'], error: { at: 'mid', error: new Error('cut') } }, 'Whole.'),
    retry: () => 0,
  }),
)
