import {
  type Agent,
  type AgentEvent,
  type Answers,
  type Callback,
  type EventDraft,
  type Interrupt,
  type Json,
  KernelError,
  type Message,
  type Run,
  type RunContext,
  type RunResult,
  type Store,
  say,
  type ThreadRef,
  type ToolCall,
  textOf,
} from '@troupe/kernel'
import { openCalls } from '@troupe/kernel/history'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type FakeClock, fakeClock } from '@troupe/testkit'
import { type FlowRunner, type RunnerOptions, runner } from '../index.ts'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't' }
export const session: { readonly session: ThreadRef } = { session: ANN }

/** A tool of an obedient agent: works, or is `open` because its result comes from outside. */
export type Work = 'open' | ((ctx: RunContext, callId: string) => string | Promise<string>)
export type Tools = { readonly [name: string]: Work }

/** What every test may call. */
export const TOOLS: Tools = {
  add: (_, callId) => `added ${callId}`,
  ask: async (ctx, callId) => JSON.stringify(await ctx.interrupt({ reason: 'input', message: `Well, ${callId}?` })),
  open: 'open',
  fail: () => {
    throw new Error('the agent broke')
  },
}

/**
 * An agent that does what the last user message says: `call add:a ask:b` calls tools, `to:Desk/Leaf call add:a` hands over first,
 * `set key value` changes state, anything else is repeated with all that the user has said before.
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
  const next = to[to.indexOf(name) + 1]
  if (next !== undefined) return yield { type: 'action', action: { type: 'transfer-to-agent', agentName: next } }
  const [verb, ...words] = command.split(' ')
  if (verb === 'set') ctx.state.set(words[0] ?? '', words[1] ?? '')
  if (verb === 'unset') ctx.state.delete(words[0] ?? '')
  if (verb !== 'call') return yield* say(ctx, `heard ${said.join(' | ')}`)
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
  yield* carryOut(name, tools, [...messages, message], ctx)
}

/** Runs the calls that have no result yet, all at once. */
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

/** What the user has said, without what other agents did. */
function wordsOf(messages: readonly Message[]): readonly string[] {
  const texts = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  return texts.filter((text) => !text.startsWith('For context:'))
}

/** The results of the last calls. */
function results(messages: readonly Message[]): readonly string[] {
  const from = messages.findLastIndex(({ role }) => role === 'assistant')
  return messages.slice(from + 1).map(({ content }) => textOf(content))
}

/** A result from outside. */
export const resultOf = (callId: string, content: string = `result ${callId}`): Message => ({
  id: `${callId}/result`,
  role: 'tool',
  callId,
  name: 'open',
  content,
})

export const user = (content: string, id: string = `user/${content}`): Message => ({ id, role: 'user', content })

/** Something that waits until it is let go, or until its run is aborted. */
export interface Gate {
  readonly entered: Promise<void>
  open(): void
  readonly pass: (ctx: RunContext) => Promise<string>
  /** Does not hear the abort. */
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

/** A runner in a world of its own, all of it watched. */
export interface Stage {
  readonly clock: FakeClock
  readonly store: Store
  readonly reports: KernelError[]
  /** What callbacks heard. */
  readonly heard: AgentEvent[]
  /** Another runner on the same store. */
  runner(options?: Partial<RunnerOptions>): FlowRunner
  messages(ref?: ThreadRef): Promise<readonly Message[]>
  /** `user hi`, `assistant heard hi`, `assistant -> add:a`, `tool a: added a`. */
  lines(ref?: ThreadRef): Promise<readonly string[]>
  /** All of a thread that may not change when something is refused. */
  snapshot(ref?: ThreadRef): Promise<unknown>
  /** Time passes, and what it sets off is done. */
  pass(ms: number, step?: number): Promise<void>
}

export function stage(given: Partial<RunnerOptions> = {}, inner?: (clock: FakeClock) => Store): Stage {
  const clock = fakeClock()
  const store = inner?.(clock) ?? memoryStore({ clock })
  const reports: KernelError[] = []
  const heard: AgentEvent[] = []
  const ear: Callback = { name: 'ear', run: { onPart: (_, event) => void heard.push(event) } }
  const messages = async (ref: ThreadRef = ANN) =>
    (await store.threads.messages(ref, { limit: 1_000 })).map(({ message }) => message)
  return {
    clock,
    store,
    reports,
    heard,
    runner: (options = {}) =>
      runner({
        agent: obedient('Desk'),
        store,
        clock,
        callbacks: [ear],
        report: (error) => void reports.push(error),
        ...given,
        ...options,
      }),
    messages,
    lines: async (ref) => (await messages(ref)).map(line),
    async snapshot(ref = ANN) {
      const { runId: _, ...thread } = (await store.threads.get(ref)) ?? {}
      return JSON.parse(JSON.stringify({ thread, messages: await messages(ref) }))
    },
    async pass(ms, step = 500) {
      for (let left = ms; left > 0; left -= step) {
        clock.advance(Math.min(left, step))
        await idle()
      }
    },
  }
}

function line(message: Message): string {
  const text = textOf(message.content)
  if (message.role === 'tool') return `tool ${message.callId}: ${text}`
  if (message.role !== 'assistant' || !message.toolCalls?.length) return `${message.role} ${text}`
  return `assistant -> ${message.toolCalls.map(({ id, name }) => `${name}:${id}`).join(' ')}`
}

/** Lets everything run that can run without anybody doing anything. */
export async function idle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** How a run settles for somebody who awaits it: its text, its outcome, or the code of its error. */
export const settled = (run: PromiseLike<RunResult>): Promise<string> =>
  Promise.resolve(run).then(
    ({ outcome, text }) => (outcome === 'complete' ? text : outcome),
    (error: unknown) => (KernelError.is(error) ? error.code : `foreign: ${String(error)}`),
  )

/** Reads a run until an event of this type, and stays there. */
export async function readTo(run: Run, type: AgentEvent['type']): Promise<AsyncIterator<AgentEvent>> {
  const iterator = run[Symbol.asyncIterator]()
  for (;;) {
    const { value, done } = await iterator.next()
    if (done) throw new Error(`the run ended without ${type}`)
    if ((value as AgentEvent).type === type) return iterator
  }
}

/** What is wrong with a history: a call with no result, with two, or with one in the wrong place. */
export function unsound(messages: readonly Message[], awaiting: readonly (string | undefined)[] = []): string[] {
  const wrong: string[] = []
  let due = new Set<string>()
  const close = () => {
    for (const id of due) if (!awaiting.includes(id)) wrong.push(`${id} has no result`)
    due = new Set()
  }
  const ids = new Set<string>()
  for (const message of messages) {
    if (ids.has(message.id)) wrong.push(`${message.id} twice`)
    ids.add(message.id)
    if (message.role === 'tool') {
      if (!due.delete(message.callId)) wrong.push(`${message.callId} has a result that belongs to no open call`)
      continue
    }
    if (due.size > 0) wrong.push(`${[...due].join()} without a result before ${message.role}`)
    close()
    if (message.role === 'assistant') due = new Set((message.toolCalls ?? []).map(({ id }) => id))
  }
  close()
  return wrong
}
