import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, loop, parallel, sequential, setSubAgents } from '@troupe/flow'
import { type Agent, type ChatModel, defineTool, KernelError, type ModelPart, say, type Tool } from '@troupe/kernel'

type Turn = string | { readonly call: string; readonly text?: string; readonly args?: string }

/** Makes an agent; what its models say begins with the voice of the process. */
export type Make = (voice: string) => Agent

const nextTask = () => new Promise((resolve) => setImmediate(resolve))

/** A model that follows a script by the turns that it sees, word by word. */
function model(voice: string, script: readonly Turn[]): ChatModel {
  return {
    name: 'scripted',
    async *stream({ messages, step }): AsyncGenerator<ModelPart> {
      const turn = messages.filter(({ role }) => role === 'assistant').length
      const next = script[turn % script.length] ?? ''
      const {
        call,
        text = '',
        args = '{"request":"Go"}',
      } = typeof next === 'string' ? { call: undefined, text: next } : next
      for (const delta of `${voice}: ${text}`.split(/(?<= )/)) {
        yield { type: 'text-delta', delta }
        await nextTask()
      }
      if (call !== undefined) {
        const callId = `${step}-${call}`
        yield { type: 'tool-call-start', callId, name: call }
        yield { type: 'tool-call-delta', callId, delta: args.slice(0, 3) }
        yield { type: 'tool-call-delta', callId, delta: args.slice(3) }
        yield { type: 'tool-call-end', callId }
      }
      yield { type: 'finish', reason: call ? 'tool-calls' : 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
    },
  }
}

/** The same model, which breaks off once in each process. */
function breaking(voice: string, script: readonly Turn[]): ChatModel {
  const whole = model(voice, script)
  let broken = false
  return {
    name: 'breaking',
    async *stream(request, options): AsyncGenerator<ModelPart> {
      for await (const part of whole.stream(request, options)) {
        yield part
        if (broken) continue
        broken = true
        throw new KernelError('MODEL_OVERLOADED', 'model: busy', { retryable: true })
      }
    },
  }
}

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    effect: 'idempotent',
    async *stream(_, ctx) {
      await ctx.emit('progress', { name })
      yield 'half '
      ctx.state.set(name, true)
      yield 'whole'
      return `${name} is done`
    },
    ...more,
  })
}

const asking = (voice: string, name: string, ...script: Turn[]) =>
  chatModelAgent({ name, description: name, model: model(voice, script), tools: [tool('look'), tool('save')] })

export const SHAPES: Readonly<Record<string, Make>> = {
  'one agent': (voice) =>
    asking(voice, 'clerk', { call: 'look', text: 'I look it up. ' }, { call: 'save' }, 'It is all done now.'),
  'an agent inside a tool': (voice) =>
    chatModelAgent({
      name: 'boss',
      model: model(voice, [{ call: 'helper', text: 'I ask. ' }, 'My helper did it.']),
      tools: [agentTool(asking(voice, 'helper', { call: 'look' }, 'I have looked it up.'), { forward: true })],
    }),
  'agents side by side': (voice) =>
    parallel({
      name: 'both',
      agents: ['left', 'right'].map((name) =>
        chatModelAgent({
          name,
          model: model(voice, [{ call: `${name}-look`, text: 'I look. ' }, `That was ${name}.`]),
          tools: [tool(`${name}-look`)],
        }),
      ),
    }),
  'agents one after the other, twice': (voice) =>
    loop({
      name: 'rounds',
      maxIterations: 2,
      agents: [
        sequential({ name: 'round', agents: [asking(voice, 'first', 'One.'), asking(voice, 'second', 'Two.')] }),
      ],
    }),
  'agents that transfer': (voice) =>
    setSubAgents(
      asking(voice, 'router', { call: 'transfer_to_agent', text: 'You. ', args: '{"agent_name":"clerk"}' }),
      [asking(voice, 'clerk', 'unused', { call: 'look' }, 'It is done.')],
    ),
  'an agent whose model breaks off': (voice) =>
    chatModelAgent({
      name: 'clerk',
      model: breaking(voice, [{ call: 'look', text: 'I look it up. ' }, 'It is done.']),
      retry: (_, attempt) => (attempt < 3 ? 0 : undefined),
      tools: [tool('look')],
    }),
  'an agent that needs approval': (voice) =>
    chatModelAgent({
      name: 'clerk',
      model: model(voice, [{ call: 'look' }, { call: 'pay', text: 'I pay. ' }]),
      tools: [tool('look'), tool('pay', { needsApproval: () => true })],
    }),
  'an agent whose tool runs once': (voice) =>
    chatModelAgent({
      name: 'clerk',
      model: model(voice, [{ call: 'send' }, 'It is sent.']),
      tools: [tool('send', { effect: 'once' })],
    }),
  'an agent that calls the page': (voice) =>
    chatModelAgent({ name: 'clerk', model: model(voice, [{ call: 'look' }, { call: 'pick' }]), tools: [tool('look')] }),
  'an agent that records no steps': (voice) => ({
    name: 'stranger',
    description: 'Talks',
    async *run(_, ctx) {
      for (const text of ['Hello, ', 'this is ', 'what I say.']) {
        await nextTask()
        yield* say(ctx, `${voice}: ${text}`)
      }
    },
  }),
}

/** A model that thinks, looks something up and answers with JSON, and breaks off in its JSON once in each process. */
function jsonModel(voice: string): ChatModel {
  let broken = false
  return {
    name: 'json',
    async *stream({ messages, step }): AsyncGenerator<ModelPart> {
      const looked = messages.some(({ role }) => role === 'tool')
      yield { type: 'reasoning-delta', delta: 'Hm. ' }
      await nextTask()
      for (const delta of looked ? ['{"city":', '"Oslo"', '}'] : [`${voice}: `, 'I look.']) {
        yield { type: 'text-delta', delta }
        await nextTask()
        if (looked && !broken) {
          broken = true
          throw new KernelError('MODEL_OVERLOADED', 'busy', { retryable: true })
        }
      }
      if (!looked) {
        yield { type: 'tool-call-start', callId: `${step}-look`, name: 'look' }
        yield { type: 'tool-call-delta', callId: `${step}-look`, delta: '{}' }
        yield { type: 'tool-call-end', callId: `${step}-look` }
      }
      yield { type: 'finish', reason: looked ? 'stop' : 'tool-calls', usage: { inputTokens: 1, outputTokens: 1 } }
    },
  }
}

/** Runs of which a client may see less than the history has (`LESS`). */
export const SEEN_IN_PART: Readonly<Record<string, Make>> = {
  'an agent with structured output': (voice) =>
    chatModelAgent({
      name: 'clerk',
      model: jsonModel(voice),
      retry: (_, attempt) => (attempt < 3 ? 0 : undefined),
      tools: [tool('look')],
      output: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    }),
  'an agent that calls the page by another name': (voice) =>
    chatModelAgent({
      name: 'clerk',
      model: breaking(voice, [{ call: 'look' }, { call: 'page_pick', text: 'Pick one. ' }]),
      retry: (_, attempt) => (attempt < 3 ? 0 : undefined),
      tools: [tool('look')],
    }),
}

/** What such a client sees. */
export const LESS = { omit: ['structured-output', 'reasoning'], clientToolPrefix: 'page_' } as const
