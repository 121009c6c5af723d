import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, parallel, sequential } from '@troupe/flow'
import {
  type Agent,
  type AgentHandler,
  defineTool,
  type ModelRequest,
  type RunContext,
  type Tool,
} from '@troupe/kernel'
import { type ScriptedModel, scriptedModel } from '@troupe/testkit'

/** Asks a person. */
export type Asking = (ctx: RunContext) => Promise<void>

const tool = (name: string, asking?: Asking, more: Partial<Tool> = {}): Tool =>
  defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    async invoke(_, ctx) {
      await asking?.(ctx)
      return `${name} done`
    },
    ...more,
  }) as Tool

/** A model that makes these calls, and answers when it sees their results. */
const answering = (name: string, ...calls: readonly string[]): ScriptedModel => {
  const toolCalls = calls.map((call, i) => ({ id: `${name}-${i}`, name: call, arguments: { request: 'Go.' } }))
  const done = `${name} is done.`
  const turn = ({ messages }: ModelRequest) =>
    calls.length > 0 && messages.at(-1)?.role !== 'tool' ? { toolCalls } : done
  return scriptedModel([turn], { repeat: true })
}

const chat = (name: string, model: ScriptedModel, tools: readonly Tool[], handlers: readonly AgentHandler[] = []) =>
  chatModelAgent({ name, description: name, model, tools, handlers })

const hooked = (handler: Omit<AgentHandler, 'name'>): Agent =>
  chat('Desk', answering('Desk', 'look'), [tool('look')], [{ name: 'asker', ...handler }])

/** Agents of which someone asks once: a tool, an approval, each hook, an agent inside a call, a branch, a step. */
export const ASKERS: { readonly [who: string]: (asking: Asking) => Agent } = {
  'a tool': (asking) => chat('Desk', answering('Desk', 'look', 'ask'), [tool('look'), tool('ask', asking)]),
  'a tool that streams': (asking) => {
    async function* stream(_: unknown, ctx: RunContext) {
      yield 'well, '
      await asking(ctx)
      yield 'done'
    }
    const { invoke: _, ...streaming } = tool('ask')
    return chat('Desk', answering('Desk', 'ask'), [{ ...streaming, stream }])
  },
  beforeAgent: (asking) => hooked({ beforeAgent: asking }),
  beforeModelRewriteHistory: (asking) => hooked({ beforeModelRewriteHistory: asking }),
  wrapModelCall: (asking) =>
    hooked({
      async *wrapModelCall(ctx, request, next) {
        await asking(ctx)
        yield* next(ctx, request)
      },
    }),
  'wrapModelCall, after the answer': (asking) =>
    hooked({
      async *wrapModelCall(ctx, request, next) {
        yield* next(ctx, request)
        await asking(ctx)
      },
    }),
  afterModelRewriteHistory: (asking) => hooked({ afterModelRewriteHistory: asking }),
  wrapInvokableToolCall: (asking) =>
    hooked({
      async wrapInvokableToolCall(ctx, input, next) {
        await asking(ctx)
        return next(ctx, input)
      },
    }),
  afterAgent: (asking) => hooked({ afterAgent: asking }),
  'an agent inside a call': (asking) =>
    chat('Desk', answering('Desk', 'Clerk'), [
      agentTool(chat('Clerk', answering('Clerk', 'ask'), [tool('ask', asking)]), { forward: true }),
    ]),
  'a hook of an agent inside a call': (asking) =>
    chat('Desk', answering('Desk', 'Clerk'), [
      agentTool(
        chat(
          'Clerk',
          answering('Clerk', 'look'),
          [tool('look')],
          [{ name: 'asker', afterModelRewriteHistory: asking }],
        ),
      ),
    ]),
  'a branch': (asking) =>
    parallel({
      name: 'All',
      agents: [chat('One', answering('One', 'ask'), [tool('ask', asking)]), chat('Two', answering('Two'), [])],
    }),
  'a step': (asking) =>
    sequential({
      name: 'Steps',
      agents: [chat('One', answering('One'), []), chat('Two', answering('Two', 'ask'), [tool('ask', asking)])],
    }),
  'an agent without resume': (asking) => ({
    name: 'Plain',
    description: 'Asks.',
    async *run(_, ctx) {
      await asking(ctx)
      const id = ctx.ids.next()
      yield { type: 'message-start', messageId: id }
      yield { type: 'message-end', message: { id, role: 'assistant', content: 'Plain is done.', agentName: 'Plain' } }
    },
  }),
}
