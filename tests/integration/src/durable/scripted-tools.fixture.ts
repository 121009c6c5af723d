import { agentTool, breakLoopTool } from '@troupe/flow'
import { type Agent, defineTool, type RunContext, type Tool, type ToolCallInput, type ToolOutput } from '@troupe/kernel'
import { runNested } from '@troupe/kernel/run'
import { defineAgent, type SubagentEnvironment, subagentTool } from '@troupe/subagent'
import type { ScriptedHost } from './scripted-host.fixture.ts'

/** Does what a tool of this name does. */
type Act = (ctx: RunContext, call: ToolCallInput) => Promise<ToolOutput | void>

interface ScriptedTool extends Partial<Omit<Tool, 'invoke' | 'stream'>> {
  readonly act?: Act
  readonly chunks?: readonly string[]
}

/** A key of the state that no call beside this one uses, so that what is read does not depend on timing. */
function ownKey({ runId, agentName, step }: RunContext): string {
  return [...runId.split('/').slice(1), agentName, step.split(':').at(-1)].join(' ')
}

/** What a long-running tool returns; its result comes later, from outside. */
export const STARTED = 'started'

const resultOf = ({ step }: RunContext, what: string) => `${what} at ${step}`

/** The tools that every agent has, by name. */
function toolsOf(host: ScriptedHost): { readonly [name: string]: ScriptedTool } {
  const plain =
    (ticks: number): Act =>
    async (ctx, { name }) => {
      await host.pause(ticks)
      return resultOf(ctx, name)
    }
  const counts: Act = async (ctx) => {
    const key = ownKey(ctx)
    const count = ((ctx.state.get(key) as number | undefined) ?? 0) + 1
    ctx.state.set(key, count)
    await host.pause(2)
    ctx.state.set(`temp:${key}`, ctx.step)
    return resultOf(ctx, `counted ${count}`)
  }
  const asks: Act = async (ctx) => {
    await host.pause(1)
    return resultOf(ctx, `heard ${await ctx.interrupt({ reason: 'input' })}`)
  }
  return {
    pure: { effect: 'pure', act: plain(1) },
    safe: { effect: 'idempotent', act: plain(3) },
    once: { act: plain(2) },
    quick: { act: plain(0) },
    counts: { effect: 'idempotent', act: counts },
    countsOnce: { act: counts },
    forgets: {
      effect: 'idempotent',
      async act(ctx) {
        const key = ownKey(ctx)
        const last = ctx.state.get(`temp:${key}`) ?? 'nothing'
        await host.pause(1)
        ctx.state.delete(key)
        return resultOf(ctx, `forgot ${last}`)
      },
    },
    streams: { effect: 'idempotent', chunks: ['one ', 'two ', 'three'] },
    streamsOnce: { chunks: ['a ', 'b ', 'c'] },
    shouts: {
      effect: 'idempotent',
      async act(ctx) {
        await ctx.emit('shout', ctx.step)
        await host.pause(1)
        ctx.sendAction({ type: 'custom', name: 'shouted', data: ctx.step })
        return resultOf(ctx, 'shouted')
      },
    },
    leaves: {
      effect: 'idempotent',
      async act(ctx) {
        await host.pause(1)
        ctx.sendAction({ type: 'exit', result: ctx.step })
        return resultOf(ctx, 'left')
      },
    },
    direct: {
      effect: 'idempotent',
      async act(ctx) {
        await host.pause(1)
        return { content: resultOf(ctx, 'direct'), direct: true }
      },
    },
    asks: { act: asks, effect: 'idempotent' },
    asksOnce: { act: asks },
    twice: {
      effect: 'idempotent',
      act: async (ctx) => `${await asks(ctx, {} as ToolCallInput)} ${await asks(ctx, {} as ToolCallInput)}`,
    },
    guarded: { act: plain(1), effect: 'idempotent', needsApproval: () => true },
    guardedOnce: {
      act: plain(1),
      async needsApproval() {
        await host.pause(1)
        return true
      },
    },
    slow: { longRunning: true, act: async () => STARTED },
    slowly: {
      longRunning: true,
      effect: 'idempotent',
      async act(ctx, call) {
        await counts(ctx, call)
        return STARTED
      },
    },
    fails: {
      effect: 'idempotent',
      async act(ctx) {
        await host.pause(1)
        throw new Error(resultOf(ctx, 'failed'))
      },
    },
    throws: { effect: 'idempotent', onError: 'throw', act: () => Promise.reject(new Error('thrown')) },
  }
}

/** Makes a tool that notes its steps. */
function scriptedTool(host: ScriptedHost, name: string, { act, chunks, ...more }: ScriptedTool): Tool {
  const begin = ({ runId, step }: RunContext) => host.begin(`${runId}/${step}`, (more.effect ?? 'once') === 'once')
  return defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    ...more,
    ...(act && {
      invoke(_: unknown, ctx: RunContext, call: ToolCallInput) {
        begin(ctx)
        return act(ctx, call)
      },
    }),
    ...(chunks && {
      async *stream(_: unknown, ctx: RunContext) {
        begin(ctx)
        for (const chunk of chunks) {
          yield chunk
          await host.pause(1)
        }
        return name === 'streams' ? undefined : resultOf(ctx, 'streamed')
      },
    }),
  } as Tool)
}

/** The names of the tools that do nothing but their own work. */
export const PLAIN_TOOLS: readonly string[] = Object.keys(toolsOf({} as ScriptedHost))

/** Makes the tools of the agents of a process; `inner` runs inside those that run agents, `simple` inside one that is a step as a whole. */
export function scriptedTools(
  host: ScriptedHost,
  inner?: Agent,
  simple?: Agent,
  env?: SubagentEnvironment,
): readonly Tool[] {
  const plain = Object.entries(toolsOf(host)).map(([name, tool]) => scriptedTool(host, name, tool))
  if (!inner || !simple || !env) return plain
  const both = defineTool({
    name: 'both',
    description: 'Runs two agents at once.',
    parameters: { type: 'object' },
    effect: 'nested',
    async invoke(_, ctx) {
      const word = await ctx.perform('word', async () => {
        host.begin(`${ctx.runId}/${ctx.step}/word#1`)
        await host.pause(1)
        return 'word'
      })
      const runs = [0, 1].map(() => runNested(inner, `Help with ${word}.`, ctx))
      const [one, two] = await Promise.allSettled(runs)
      for (const run of [one, two]) if (run?.status === 'rejected') throw run.reason
      return `both ${[one, two].map((run) => (run?.status === 'fulfilled' ? run.value.text : '')).join(' ')}`
    },
  })
  const inside = scriptedTool(host, 'inside', {
    effect: 'idempotent',
    act: async (ctx) => (await runNested(simple, 'Help.', ctx)).text,
  })
  const hidden = agentTool(inner, { name: 'Hidden' })
  const sub = subagentTool(
    defineAgent({
      name: 'sub',
      description: 'sub',
      input: { inputs: { task: { type: 'string', description: 'task', required: true } } },
      prompt: 'You are sub.',
      tools: PLAIN_TOOLS.filter((name) => name !== 'throws'),
      limits: { maxToolCalls: 4 },
    }),
    { ...env, tools: plain },
  )
  return [
    ...plain,
    both,
    inside,
    hidden,
    agentTool(inner, { name: 'Inner', forward: true }),
    sub as Tool,
    breakLoopTool(),
  ]
}
