import {
  type Agent,
  type AgentEvent,
  type AgentInput,
  type AssistantMessage,
  type EventDraft,
  type Interrupt,
  type Json,
  KernelError,
  type Part,
  type ResumeInfo,
  type RunContext,
  type Sink,
  stream,
  type ToolCall,
} from '@troupe/kernel'
import { unanswered } from '@troupe/kernel/history'
import { pipe, sinkTo } from '@troupe/kernel/kit'
import { observe, runNested } from '@troupe/kernel/run'
import type { Random } from './random.fixture.ts'
import { wrongEvents } from './wrong-events.fixture.ts'

/** The behaviour of a random agent. */
export interface RandomAgentOptions {
  readonly depth?: number
  /** Whether it also yields events that agents must not yield. */
  readonly misbehaves?: boolean
  /** Called when the agent hangs until it is stopped. */
  readonly onHang?: () => void
}

const WORDS = ['Hello', ' world', '.', ' a~b/c', ' 你好', ' "quoted"', '\n', ' 🙂']
const KEYS = ['plan', 'a/b', 'm~n', 'temp:draft', 'list', 'deep', '']

/** An agent with random events, the same for the same seed. */
export function randomAgent(random: Random, name: string, options: RandomAgentOptions = {}): Agent {
  const run = (start: AgentInput | ResumeInfo, ctx: RunContext) =>
    stream<EventDraft>((sink) => new RandomTurns(random, sink, ctx, options).run(start))
  return { name, description: name, run, resume: run }
}

class RandomTurns {
  readonly #random: Random
  readonly #sink: Sink<EventDraft>
  readonly #ctx: RunContext
  readonly #depth: number
  readonly #options: RandomAgentOptions
  #interrupts: Interrupt[] = []
  #calls = 0
  #branches = 0

  constructor(random: Random, sink: Sink<EventDraft>, ctx: RunContext, options: RandomAgentOptions) {
    this.#random = random
    this.#sink = sink
    this.#ctx = ctx
    this.#depth = options.depth ?? 0
    this.#options = options
  }

  async run(start: AgentInput | ResumeInfo): Promise<void> {
    for (const call of unanswered(start.messages)) await this.#answer(call)
    const acts = this.#random.below(5)
    for (let i = 0; i < acts && this.#interrupts.length === 0; i++) await this.#next()
    if (this.#interrupts.length > 0) {
      await this.#write({ type: 'action', action: { type: 'interrupt', interrupts: this.#interrupts, state: 1 } })
    }
  }

  #next(): Promise<void> {
    const acts: (() => Promise<void>)[] = [
      () => this.#message(),
      () => this.#message(),
      () => this.#message(),
      () => this.#change(),
      () => this.#customEvent(),
    ]
    if (this.#depth < 2) acts.push(() => this.#team())
    if (this.#options.misbehaves) acts.push(() => this.#misbehave())
    if (this.#random.chance(0.04)) return Promise.reject(new Error('secret: boom'))
    if (this.#random.chance(0.03)) return this.#hang()
    return this.#random.pick(acts)()
  }

  async #write(draft: EventDraft): Promise<void> {
    const wait = this.#sink.write(draft)
    if (wait) await wait
    if (this.#random.chance(0.1)) await Promise.resolve()
  }

  async #change(): Promise<void> {
    const { state } = this.#ctx
    const key = this.#random.pick(KEYS)
    if (key === '') return
    if (this.#random.chance(0.25)) state.delete(key)
    else state.set(key, this.#json(0))
    const value = state.get(key)
    // Some agents change a value in place.
    if (Array.isArray(value) && this.#random.chance(0.5)) {
      value.push(this.#json(1))
      state.set(key, value)
    }
    await Promise.resolve()
  }

  async #customEvent(): Promise<void> {
    for (let times = this.#random.below(3); times >= 0; times--) {
      const content = this.#json(0)
      const activity = { type: 'PLAN', content, ...(this.#random.chance(0.5) && { id: 'plan' }) } as Json
      await this.#ctx.emit(this.#random.pick(['activity', 'progress']), activity)
    }
    await this.#write({ type: 'action', action: { type: 'custom', name: 'note', data: this.#json(1) } })
  }

  async #message(): Promise<void> {
    const messageId = this.#ctx.ids.next()
    const parts: Part[] = []
    const calls: ToolCall[] = []
    const structured = this.#random.chance(0.2) && ({ structured: true } as const)
    await this.#write({ type: 'message-start', messageId, ...structured })
    for (let i = this.#random.below(4); i > 0; i--) {
      const type = this.#random.chance(0.3) ? 'reasoning' : 'text'
      const text = this.#words()
      const sealed = type === 'reasoning' && this.#random.chance(0.5) && { encrypted: `sealed ${i}` }
      parts.push({ type, text, ...sealed } as Part)
      if (this.#random.chance(0.15)) continue
      for (const delta of pieces(text)) await this.#write({ type: `${type}-delta`, messageId, delta })
    }
    for (let i = this.#random.below(3); i > 0; i--) calls.push(await this.#call(messageId))
    if (this.#random.chance(0.1)) parts.push({ type: 'file', mediaType: 'image/png', data: 'AA==' })
    await this.#end(messageId, parts, calls, structured)
  }

  async #call(messageId: string): Promise<ToolCall> {
    const callId = this.#ctx.ids.call(this.#random.pick(['call-1', 'call-2', 'call-3']))
    const name = this.#random.pick(['search', 'ask', 'page_browser'])
    const args = JSON.stringify({ q: this.#words() })
    const call = { id: callId, name, arguments: args }
    await this.#write({ type: 'tool-call-start', messageId, callId, name })
    const shown = this.#random.chance(0.8) ? args : ''
    for (const delta of pieces(shown)) await this.#write({ type: 'tool-call-delta', callId, delta })
    await this.#write({ type: 'tool-call-end', call })
    return call
  }

  async #end(
    messageId: string,
    parts: readonly Part[],
    calls: readonly ToolCall[],
    structured: false | { readonly structured: true },
  ): Promise<void> {
    const [content, kept] = [this.#rewritten(parts), this.#random.chance(0.1) ? calls.slice(1) : calls]
    for (const { id: callId, name } of calls.filter((call) => !kept.includes(call))) {
      const dropped = { messageId: this.#ctx.ids.next(), status: 'dropped', content: '' } as const
      await this.#write({ type: 'tool-end', callId, name, ...dropped })
    }
    const dropped = this.#random.chance(0.1)
    const message: AssistantMessage = {
      id: messageId,
      role: 'assistant',
      content,
      ...(kept.length > 0 && { toolCalls: kept }),
      // Some agents say so only at the end.
      ...(kept.length === 0 && (structured || (this.#random.chance(0.05) && { structured: true }))),
      agentName: this.#ctx.agentName,
    }
    const usage = { inputTokens: 3, outputTokens: 2 }
    const finishReason = this.#random.pick(['stop', 'length'] as const)
    await this.#write({ type: 'message-end', message, usage, finishReason, ...(dropped && { dropped }) })
    if (dropped) return
    for (const call of kept) await this.#run(call)
  }

  /** The content after a hook that may change it. */
  #rewritten(parts: readonly Part[]): readonly Part[] | string {
    if (this.#random.chance(0.1)) return 'Something else.'
    if (this.#random.chance(0.1)) return [...parts, { type: 'text', text: ' And more.' }]
    return parts
  }

  async #run(call: ToolCall): Promise<void> {
    const { id: callId, name } = call
    await this.#write({ type: 'tool-start', callId, name, arguments: call.arguments })
    if (this.#random.chance(0.2)) await this.#write({ type: 'tool-delta', callId, delta: this.#words() })
    if (this.#random.chance(0.1)) return
    const scope = {
      callId,
      onAction() {},
      onInterrupt: (asked: readonly Interrupt[]) => this.#interrupts.push(...asked),
    }
    const inside = this.#ctx.derive({ step: `tool:0:${this.#calls++}`, call: scope })
    try {
      if (this.#depth < 2 && this.#random.chance(0.3)) await this.#nest(inside)
      if (this.#random.chance(0.1)) await inside.interrupt({ reason: 'approval', message: 'May I?', expiresAt: 1e12 })
    } catch (error) {
      if (KernelError.is(error, 'INTERRUPTED')) return
      if (KernelError.is(error, 'ABORTED')) throw error
    }
    await this.#answer(call)
  }

  async #answer({ id: callId, name }: ToolCall): Promise<void> {
    const failed = this.#random.chance(0.2)
    const error = { code: 'TOOL_FAILED', message: 'secret: no' }
    const result = failed
      ? { status: 'failed', content: 'Error: secret: no', error }
      : { status: 'complete', content: this.#words(), ...(this.#random.chance(0.3) && { display: 'Done', data: [1] }) }
    await this.#write({ type: 'tool-end', callId, messageId: this.#ctx.ids.next(), name, ...result } as EventDraft)
  }

  async #nest(inside: RunContext): Promise<void> {
    const count = 1 + this.#random.below(2)
    const forward = this.#random.chance(0.9)
    for (let i = 0; i < count; i++) {
      const inner = randomAgent(this.#random, 'helper', { ...this.#options, depth: this.#depth + 1 })
      await runNested(inner, { messages: [] }, inside, { forward })
    }
  }

  /** Agents in sequence or in parallel. */
  async #team(): Promise<void> {
    const names = this.#random.pick([['writer'], ['writer', 'critic'], ['twin', 'twin']])
    const work = names.map((name) => () => {
      const agent = randomAgent(this.#random, name, { ...this.#options, depth: this.#depth + 1 })
      const derived = this.#ctx.derive({
        step: `branch:${this.#branches++}`,
        runPath: [...this.#ctx.runPath, this.#ctx.agentName],
      })
      return pipe(
        observe(agent, { messages: [] }, derived),
        sinkTo(this.#sink, (event: AgentEvent) => {
          // A tool that runs agents passes their questions on.
          const own = event.type === 'action' && event.runId === this.#ctx.runId && event.action
          if (own && own.type === 'interrupt') this.#interrupts.push(...own.interrupts)
          return this.#sink.write(event)
        }),
      )
    })
    if (this.#random.chance(0.5)) await Promise.all(work.map((run) => run()))
    else for (const run of work) await run()
  }

  async #misbehave(): Promise<void> {
    const id = this.#random.pick(['m1', 'm2', ''])
    await this.#write(this.#random.pick(wrongEvents(id, this.#words())) as EventDraft)
  }

  #hang(): Promise<void> {
    const { signal } = this.#ctx
    this.#options.onHang?.()
    return new Promise((_resolve, reject) => {
      const stop = () => reject(signal.reason)
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    })
  }

  #words(): string {
    let text = ''
    for (let i = this.#random.below(4); i >= 0; i--) text += this.#random.pick(WORDS)
    return text
  }

  #json(depth: number): Json {
    if (depth > 2 || this.#random.chance(0.3)) return this.#random.pick([null, true, 0, 1.5, 'x', '', 'a/b'])
    const size = this.#random.below(4)
    const items = Array.from({ length: size }, () => this.#json(depth + 1))
    if (this.#random.chance(0.5)) return items
    return Object.fromEntries(items.map((item) => [this.#random.pick(['a', 'b/c', 'd~e', 'constructor', '']), item]))
  }
}

/** A text in pieces, as models write it. */
function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,5}/gu) ?? []
}
