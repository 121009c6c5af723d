import type { AgentInput } from '../agent/agent.ts'
import type { ModelRequest, ModelResult } from '../agent/model.ts'
import type { ToolCallInput, ToolCallResult } from '../agent/tool.ts'
import { checkHooks, methodsOf } from '../data/check-hooks.ts'
import type { AgentEvent, EventOf, RunResult } from '../data/event.ts'
import type { Json, JsonObject } from '../data/json.ts'
import { got, isObject, KernelError } from '../data/kernel-error.ts'
import { hint } from '../data/option.ts'
import type { ThreadRef } from '../data/thread-ref.ts'

/** The component that a span observes, and its position in the run. */
export interface RunInfo {
  readonly component: keyof Spans
  readonly name: string
  /** The agent that the span belongs to. */
  readonly agentName: string
  readonly runId: string
  /** The run around a nested run. */
  readonly parentRunId?: string
  /** `<runId>/<step>`, so a wrap can find the span of its call. */
  readonly spanId: string
  /** The agent for a model or tool, the run for an agent, the tool call for a nested run; absent for a root run. */
  readonly parentSpanId?: string
  readonly callId?: string
  readonly session: ThreadRef
  /** The number of this attempt to carry out the root run, if it can be continued: a later attempt has a higher one. */
  readonly attempt?: number
  /** On the span of a root run that resumes or continues another one: what each callback has kept with that run, by name. */
  readonly kept?: JsonObject
}

/** Input and output of each kind of span. */
export interface Spans {
  run: { input: AgentInput; output: RunResult }
  agent: { input: AgentInput; output: EventOf<'agent-end'> }
  model: { input: ModelRequest; output: ModelResult }
  tool: { input: ToolCallInput; output: ToolCallResult }
}

/** Hooks of a span. Contract: called synchronously and not awaited; exactly one of `onEnd` and `onError` per `onStart`. */
export interface SpanHooks<Input, Output> {
  onStart?(info: RunInfo, input: Input): void | Promise<void>
  /** Contract: also called when the span was cancelled or interrupted, and for a tool's own failure. */
  onEnd?(info: RunInfo, output: Output): void | Promise<void>
  onError?(info: RunInfo, error: KernelError): void | Promise<void>
}

/** Observes runs without taking part in them. Contract: its arguments are shared, do not change them; a hook that throws or hangs is isolated and reported once; it cannot delay or break a run. */
export interface Callback {
  readonly name: string
  /** Observes only agents of these names, with their model and tool calls, and the runs that begin with them. @default all */
  readonly agents?: readonly string[]
  /** A root or nested run; `onPart` gets each of its events, read or not, without those of the runs nested in it. */
  readonly run?: SpanHooks<AgentInput, RunResult> & { onPart?(info: RunInfo, event: AgentEvent): void }
  readonly agent?: SpanHooks<AgentInput, EventOf<'agent-end'>>
  readonly model?: SpanHooks<ModelRequest, ModelResult>
  /** Contract: opens outside the wraps, so it also covers cached and refused calls. */
  readonly tool?: SpanHooks<ToolCallInput, ToolCallResult>
  /** Makes the callback that observes one root run and the runs nested in it. Contract: called where the run is asked for, before anything of it happens; the run may never begin. */
  forRun?(): Callback
  /** Gives what is kept with a run for the one that resumes or continues it, in any process: its `info.kept`. Contract: called after the root run has begun, each time that something of it is stored to go on from. */
  keep?(): Json | undefined
}

/** An open span. Contract: the first of `end` and `fail` counts. */
export interface Span<C extends keyof Spans> {
  end(output: Spans[C]['output']): void
  fail(error: unknown): void
}

const SPANS = Object.keys({ run: true, agent: true, model: true, tool: true } satisfies Record<keyof Spans, true>)
const SPAN_HOOKS = ['onStart', 'onEnd', 'onError'] satisfies (keyof SpanHooks<never, never>)[]
const RUN_HOOKS = [...SPAN_HOOKS, 'onPart']
const SPAN_ALIASES = { llm: 'model', chatModel: 'model', tools: 'tool' }
const HOOK_ALIASES = { onBegin: 'onStart', onStop: 'onEnd', onFinish: 'onEnd', onFail: 'onError', onEvent: 'onPart' }
const LOOKS_LIKE_HOOK = /^on[A-Z_]/
const checked = new WeakSet<Callback>()

/**
 * Checks a callback before it is used.
 * Contract: throws `CONFIG_INVALID` for one without a name, for a hook that does not exist (`model.onStop`, `onStart` outside a span), and for a span that does not exist (`llm: { onStart }`).
 * @example callbacks.forEach(checkCallback)
 */
export function checkCallback(callback: Callback): void {
  if (!isObject(callback) || typeof callback.name !== 'string' || callback.name === '') {
    throw new KernelError('CONFIG_INVALID', `callbacks: each must be an object with a name, ${got(callback)}`)
  }
  if (checked.has(callback)) return
  const who = `callback ${callback.name}`
  checkAgentNames(who, callback)
  for (const [name, value] of Object.entries(callback)) {
    if (SPANS.includes(name)) checkSpan(`${who}: ${name}`, value, name === 'run' ? RUN_HOOKS : SPAN_HOOKS)
    else if (isObject(value) && hasSpanHook(value)) {
      throw new KernelError('CONFIG_INVALID', `${who}: unknown span ${name}; ${hint(name, SPANS, SPAN_ALIASES)}`)
    }
  }
  for (const name of methodsOf(callback)) {
    if (!LOOKS_LIKE_HOOK.test(name)) continue
    throw new KernelError(
      'CONFIG_INVALID',
      `${who}: ${name} is outside a span; put it into one of ${SPANS.join(', ')}: { run: { onStart } }`,
    )
  }
  checked.add(callback)
}

function checkAgentNames(who: string, { agents = [] }: Callback): void {
  if (Array.isArray(agents) && agents.every((name) => typeof name === 'string')) return
  throw new KernelError('CONFIG_INVALID', `${who}: agents must be a list of names, ${got(agents)}`)
}

function checkSpan(who: string, span: unknown, known: readonly string[]): void {
  if (span === undefined) return
  if (!isObject(span)) throw new KernelError('CONFIG_INVALID', `${who} must be an object of hooks, ${got(span)}`)
  let hooks = 0
  for (const name of known) {
    if (span[name] === undefined) continue
    if (typeof span[name] !== 'function') {
      throw new KernelError('CONFIG_INVALID', `${who}.${name} must be a function, ${got(span[name])}`)
    }
    hooks++
  }
  checkHooks(who, span, { known, looksLikeHook: LOOKS_LIKE_HOOK, aliases: HOOK_ALIASES, hooks })
}

function hasSpanHook(span: Readonly<Record<PropertyKey, unknown>>): boolean {
  return RUN_HOOKS.some((name) => typeof span[name] === 'function')
}
