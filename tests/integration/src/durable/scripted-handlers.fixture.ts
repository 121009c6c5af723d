import { toolCallLimit } from '@troupe/handlers'
import type { AgentHandler, ModelPart, RunContext } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import type { ScriptedHost } from './scripted-host.fixture.ts'

export const HANDLER_NAMES = ['performs', 'shortens', 'corrects', 'waits', 'emits', 'wraps', 'limits'] as const
export type HandlerName = (typeof HANDLER_NAMES)[number]

/** Answers calls whose outcome is to be unknown, outside of all other handlers. */
export function lossHandler(host: ScriptedHost): AgentHandler {
  const isLost = ({ runId, step }: RunContext) => host.isLost(`${runId}/${step}`)
  const unknown = { content: UNKNOWN_RESULT }
  return {
    name: 'loses',
    wrapInvokableToolCall: async (ctx, input, next) => (isLost(ctx) ? unknown : next(ctx, input)),
    wrapStreamableToolCall: async (ctx, input, next) =>
      isLost(ctx) ? { stream: nothing(), result: Promise.resolve(unknown) } : next(ctx, input),
  }
}

/** A key of the state that no agent beside this one uses. */
function keyOf({ runId, agentName }: RunContext, what: string): string {
  return [what, ...runId.split('/').slice(1), agentName].join(' ')
}

async function* nothing(): AsyncGenerator<string> {}

const HANDLERS: { readonly [name in HandlerName]: (host: ScriptedHost) => AgentHandler } = {
  /** Reads something that must not differ. */
  performs: (host) => ({
    name: 'performs',
    async beforeAgent(ctx, config) {
      const step = `${ctx.runId}/${ctx.step === '' ? 'profile' : `${ctx.step}/profile`}#1`
      const profile = await ctx.perform('profile', async () => {
        host.begin(step)
        await host.pause(2)
        return `profile of ${ctx.step}`
      })
      config.instruction += profile
    },
  }),
  /** Shows the model less than there is. */
  shortens: (host) => ({
    name: 'shortens',
    async beforeModelRewriteHistory(_, messages) {
      await host.pause(1)
      const from = messages.length - 4
      return messages.map((message, i) =>
        i < from && message.role === 'tool' ? { ...message, content: 'cut' } : message,
      )
    },
  }),
  /** Changes what the model has said. */
  corrects: () => ({
    name: 'corrects',
    afterModelRewriteHistory(_, messages) {
      const last = messages.at(-1)
      if (last?.role !== 'assistant' || typeof last.content !== 'string') return undefined
      return messages.with(-1, { ...last, content: `${last.content}(corrected)` })
    },
  }),
  waits: (host) => ({
    name: 'waits',
    beforeAgent: () => host.pause(4),
    beforeModelRewriteHistory: () => host.pause(3),
    afterAgent: () => host.pause(3),
  }),
  emits: () => ({
    name: 'emits',
    async beforeAgent(ctx) {
      await ctx.emit('begun', ctx.step)
      ctx.state.set(keyOf(ctx, 'begun'), ctx.step)
    },
    async afterAgent(ctx, { outcome }) {
      await ctx.emit('ended', outcome)
    },
  }),
  /** Wraps what a model and a tool give. */
  wraps: (host) => ({
    name: 'wraps',
    async *wrapModelCall(ctx, request, next): AsyncGenerator<ModelPart> {
      ctx.state.set(keyOf(ctx, 'asked'), request.step)
      for await (const part of next(ctx, request)) yield part
      await host.pause(1)
    },
    async wrapInvokableToolCall(ctx, input, next) {
      const result = await next(ctx, input)
      return typeof result.content === 'string' ? { ...result, content: `${result.content}!` } : result
    },
  }),
  limits: () => toolCallLimit({ perRun: 3 }),
}

/** The handlers of an agent. */
export function scriptedHandlers(host: ScriptedHost, names: readonly HandlerName[]): readonly AgentHandler[] {
  return [lossHandler(host), ...names.map((name) => HANDLERS[name](host))]
}
