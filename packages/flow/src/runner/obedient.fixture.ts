import {
  type Agent,
  type Answers,
  type EventDraft,
  type Interrupt,
  type Json,
  KernelError,
  type Message,
  type RunContext,
  say,
  type ToolCall,
  textOf,
} from '@troupe/kernel'
import { openCalls } from '@troupe/kernel/history'

/** A tool of an obedient agent: a function, or `open` if its result comes from outside. */
type Work = 'open' | ((ctx: RunContext, callId: string) => string | Promise<string>)
export type Tools = { readonly [name: string]: Work }

/** The tools that every test can use. */
export const TOOLS: Tools = {
  add: (_, callId) => `added ${callId}`,
  ask: async (ctx, callId) => JSON.stringify(await ctx.interrupt({ reason: 'input', message: `Well, ${callId}?` })),
  open: 'open',
  fail: () => {
    throw new Error('the agent broke')
  },
}

/**
 * An agent that does what the last user message says: `call add:a ask:b` calls tools, `to:Floor/Leaf call add:a` makes Desk transfer first,
 * `set key value` changes state, any other text is repeated with the earlier user messages.
 */
export function obedient(name: string, tools: Tools = TOOLS): Agent {
  return {
    name,
    description: name,
    acceptsAdditions: true,
    run: ({ messages }, ctx) => obey(name, tools, messages, ctx),
    async *resume({ messages, state, answers }, ctx) {
      const known = { ...(state as Answers), ...answers }
      yield* carryOut(name, tools, messages, ctx, known)
    },
  }
}

async function* obey(
  name: string,
  tools: Tools,
  messages: readonly Message[],
  ctx: RunContext,
): AsyncGenerator<EventDraft> {
  if (openCalls(messages).length > 0) return
  if (ctx.cancelling) throw new KernelError('ABORTED', `${name}: asked to stop`)
  if (messages.at(-1)?.role === 'tool') return yield* say(ctx, `got ${results(messages).join(', ')}`)
  const said = wordsOf(messages)
  const { to, command } = parse(said.at(-1) ?? '')
  const next = name === 'Desk' || to.includes(name) ? to[to.indexOf(name) + 1] : undefined
  if (next !== undefined) return yield { type: 'action', action: { type: 'transfer-to-agent', agentName: next } }
  const [verb, ...words] = command.split(' ')
  if (verb === 'set') ctx.state.set(words[0] ?? '', words[1] ?? '')
  if (verb === 'unset') ctx.state.delete(words[0] ?? '')
  if (verb !== 'call') return yield* say(ctx, `heard ${said.join(' | ')}`)
  const message = yield* makeCalls(name, words, ctx)
  yield* carryOut(name, tools, [...messages, message], ctx)
}

/** Says that it calls tools; each word is `tool:callId`. */
async function* makeCalls(
  name: string,
  words: readonly string[],
  ctx: RunContext,
): AsyncGenerator<EventDraft, Message> {
  const id = ctx.ids.next()
  const toolCalls = words.map((word): ToolCall => {
    const [tool = '', callId = ''] = word.split(':')
    return { id: ctx.ids.call(callId), name: tool, arguments: '{}' }
  })
  yield { type: 'message-start', messageId: id }
  for (const call of toolCalls) {
    yield { type: 'tool-call-start', messageId: id, callId: call.id, name: call.name }
    yield { type: 'tool-call-end', call }
  }
  const message: Message = { id, role: 'assistant', content: '', toolCalls, agentName: name }
  yield { type: 'message-end', message }
  if (ctx.cancelling === 'after-model') throw new KernelError('ABORTED', `${name}: asked to stop after the model`)
  for (const { id: callId, name, arguments: args } of toolCalls) {
    yield { type: 'tool-start', callId, name, arguments: args }
  }
  return message
}

/** Runs the calls without a result, in parallel. */
async function* carryOut(
  name: string,
  tools: Tools,
  before: readonly Message[],
  ctx: RunContext,
  answers: Answers = {},
): AsyncGenerator<EventDraft> {
  const interrupts: Interrupt[] = []
  const messages = [...before]
  const due = openCalls(before).filter((call) => tools[call.name] !== 'open')
  const outcomes = await Promise.allSettled(
    due.map(async ({ id: callId, name }) => {
      const onInterrupt = (asked: readonly Interrupt[]) => void interrupts.push(...asked)
      const call = { callId, answers, onAction() {}, onInterrupt }
      return (tools[name] as Exclude<Work, 'open'>)(ctx.derive({ step: `tool:${callId}`, call }), callId)
    }),
  )
  for (const [i, outcome] of outcomes.entries()) {
    const { id: callId, name: tool } = due[i] as ToolCall
    if (outcome.status === 'rejected') {
      if (KernelError.is(outcome.reason, 'INTERRUPTED')) continue
      throw outcome.reason
    }
    const messageId = ctx.ids.next()
    const result = { messageId, callId, name: tool, content: outcome.value }
    yield { type: 'tool-end', status: 'complete', ...result }
    messages.push({ id: messageId, role: 'tool', callId, name: tool, content: outcome.value })
  }
  const state: Json = { ...answers, secret: 'where it goes on' }
  if (interrupts.length > 0) yield { type: 'action', action: { type: 'interrupt', interrupts, state } }
  else yield* obey(name, tools, messages, ctx)
}

function parse(text: string): { readonly to: readonly string[]; readonly command: string } {
  const [first = '', ...rest] = text.split(' ')
  return first.startsWith('to:')
    ? { to: first.slice(3).split('/'), command: rest.join(' ') }
    : { to: [], command: text }
}

/** The messages of the user, without the context from other agents. */
function wordsOf(messages: readonly Message[]): readonly string[] {
  const texts = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  return texts.filter((text) => !text.startsWith('For context:'))
}

/** The results of the last calls. */
function results(messages: readonly Message[]): readonly string[] {
  const from = messages.findLastIndex(({ role }) => role === 'assistant')
  return messages.slice(from + 1).map(({ content }) => textOf(content))
}

/** A tool that waits until the test opens it or its run is aborted. */
export interface Gate {
  readonly entered: Promise<void>
  open(): void
  readonly pass: (ctx: RunContext) => Promise<string>
  /** Ignores the abort. */
  readonly deaf: () => Promise<string>
}

export function gate(): Gate {
  const entered = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const enter = () => {
    entered.resolve()
    return opened.promise
  }
  return {
    entered: entered.promise,
    open: opened.resolve,
    async pass({ signal }) {
      const stopped = Promise.withResolvers<never>()
      const stop = () => stopped.reject(signal.reason)
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop)
      try {
        await Promise.race([enter(), stopped.promise])
      } finally {
        signal.removeEventListener('abort', stop)
      }
      return 'passed'
    },
    async deaf() {
      await enter()
      return 'passed'
    },
  }
}
