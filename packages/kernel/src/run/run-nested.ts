import type { Agent, AgentInput, ResumeInfo } from '../agent/agent.ts'
import { readInput, type StartInput } from '../agent/start-input.ts'
import type { RunContext } from '../context/context.ts'
import type { Answers, Interrupt } from '../data/action.ts'
import type { AgentEvent, RunResult } from '../data/event.ts'
import type { Json } from '../data/json.ts'
import { isObject, KernelError } from '../data/kernel-error.ts'
import type { Message, ToolCall, Usage } from '../data/message.ts'
import { checkOptionNames } from '../data/option.ts'
import { onlyInCall } from '../engine/call-progress.ts'
import { internals, KernelContext } from '../engine/kernel-context.ts'
import { keyPart } from '../engine/key-part.ts'
import { RunCore } from '../engine/run-core.ts'
import { messageOf, repairHistory, unanswered } from '../history.ts'
import { STEP } from '../journal/noted-step.ts'
import type { Sink } from '../stream/sink.ts'
import { mapStream, pipe } from '../stream/stream.ts'
import { kernelRun } from './kernel-run.ts'
import { checkAgent } from './observe.ts'
import type { RunHost } from './run-host.ts'

/** Options of a nested run. */
export interface NestedOptions {
  /** Whether its events go into the outer stream; state changes always do. @default true */
  readonly forward?: boolean
  /** Gets every event of the run and of the runs nested in it. */
  readonly onEvent?: (event: AgentEvent) => void
}

/** The result or the open questions of a nested run, kept in case its call is interrupted and runs again. */
type Attempt =
  | { readonly result: RunResult<Json> }
  | { readonly interrupts: readonly Interrupt[]; readonly messages: readonly Message[]; readonly state?: Json }

/**
 * Runs an agent inside a tool call.
 * Contract: own run id and history, shared state; forwards events, counts depth, links abort; rejects when the run failed; an interrupt ends the outer call and `resume`s the inner agent when that call runs again; a nested run that had finished by then is not repeated.
 * @example const { text } = await runNested(researcher, 'Who wrote it?', ctx)
 */
export async function runNested<Output>(
  agent: Agent<Output>,
  input: StartInput,
  ctx: RunContext,
  options: NestedOptions = {},
): Promise<RunResult<Output>> {
  checkAgent(agent)
  checkOptionNames('runNested', options, { forward: true, onEvent: true })
  const outer = internals(ctx)
  const { progress } = outer.fields
  if (progress?.callId === undefined) throw onlyInCall('runNested')
  outer.core.abortState.throwIfAborted()
  const { number, saved } = progress.beginNested()
  let attempt: Attempt | undefined
  try {
    const core = nestedCore(outer, progress.callId, number === 1 ? '' : `.${number}`)
    const start = readInput<AgentInput>(input, core.runId, `run of ${agent.name}`)
    attempt = await outer.core.openEnds.trackRun(
      attemptRun(agent, start, saved as Attempt | undefined, progress.answers, outer, core, options),
    )
  } finally {
    progress.endNested(number, attempt)
  }
  if ('result' in attempt) return attempt.result as RunResult<Output>
  // In the outer run, the outer call is the one that waits.
  const { callId } = progress
  throw await progress.raise(
    attempt.interrupts.map((interrupt) => ({ ...interrupt, callId })),
    outer.canInterrupt,
  )
}

/**
 * Checks what an interrupted call has kept of the runs of an agent inside it.
 * Contract: throws `CHECKPOINT_INVALID` for anything that `runNested` has not kept, or that the agent cannot go on from.
 * @example const checkState = (saved: Json) => checkSavedRuns(researcher, saved)
 */
export function checkSavedRuns(agent: Agent, saved: Json): void {
  const wrong = () => new KernelError('CHECKPOINT_INVALID', `run of ${agent.name}: what its call has kept is malformed`)
  if (!isObject(saved) || Array.isArray(saved)) throw wrong()
  for (const attempt of Object.values(saved)) {
    if (!isAttempt(attempt)) throw wrong()
    if (!('result' in attempt) && attempt.state !== undefined) agent.checkState?.(attempt.state)
  }
}

function isAttempt(value: unknown): value is Attempt {
  if (!isObject(value)) return false
  return 'result' in value ? isObject(value.result) : Array.isArray(value.interrupts) && Array.isArray(value.messages)
}

async function attemptRun(
  agent: Agent,
  input: AgentInput,
  saved: Attempt | undefined,
  answers: Answers,
  outer: KernelContext,
  core: RunCore,
  options: NestedOptions,
): Promise<Attempt> {
  if (saved && 'result' in saved) return saved
  const start = saved ? continued(input, saved, answers, core) : input
  if (saved && !('answers' in start)) {
    const interrupts = unanswered(start.messages).map((call) => awaited(call, agent.name, core))
    if (interrupts.length > 0) return { interrupts, messages: start.messages }
  }
  const messages = start.messages.slice()
  let state: Json | undefined
  const around: NonNullable<RunHost['around']> = (_ctx, run) =>
    mapStream(run.agent(start), (event) => {
      if (event.runId !== core.runId) return event
      const message = messageOf(event)
      if (message) messages.push(message)
      if (event.type !== 'action' || event.action.type !== 'interrupt') return event
      const { state: inner = null, ...action } = event.action
      state = inner
      return { ...event, action }
    })
  const { runPath } = core
  // The step around the run counts its tokens as a whole.
  const values = { key: STEP, value: undefined, rest: outer.fields.values }
  const ctx = new KernelContext(core, { ...outer.fields, agentName: agent.name, runPath, ...BLANK, values })
  const settings = { signal: outer.signal }
  const run = kernelRun<Json>({ agent, start, core, settings, host: { around }, context: () => ctx })
  const listener = guarded(options.onEvent)
  await pipe(run, forwarding(outer, options.forward ?? true, listener.notify))
  const result = await run
  listener.throwFailure()
  const open = unanswered(messages).filter(({ id }) => result.openCallIds?.includes(id))
  const interrupts = [...(result.interrupts ?? []), ...open.map((call) => awaited(call, agent.name, core))]
  if (interrupts.length === 0) return { result }
  return { interrupts, messages: inOrder(messages), ...(state !== undefined && { state }) }
}

/** Puts results into the order of their calls: they are noted as they come, and calls beside each other end in any order. */
function inOrder(messages: readonly Message[]): readonly Message[] {
  return repairHistory(messages, { awaiting: unanswered(messages).map(({ id }) => id) })
}

const BLANK = { step: '', signal: undefined, progress: undefined, iteration: undefined, agent: undefined }

function nestedCore(outer: KernelContext, callId: string, name: string): RunCore {
  const spanId = `${outer.runId}/${outer.step}`
  const { session, clock, listeners, canInterrupt, cancelling, beforeEffect, depth } = outer.core
  const step = outer.get(STEP)
  const addUsage = (usage: Usage) => {
    outer.core.addUsage(usage)
    step?.addUsage(usage)
  }
  const parent = { runId: outer.runId, callId, spanId, origin: outer.core.ids.originOf(callId) + name, addUsage }
  return new RunCore({
    runId: spanId + name,
    session,
    clock,
    listeners,
    canInterrupt,
    cancelling,
    beforeEffect,
    depth: depth + 1,
    runPath: [...outer.runPath, outer.agentName],
    parent,
    outer: outer.core,
    makeKey: () => `${outer.core.key}%2F${keyPart(outer.step + name)}`,
  })
}

function forwarding(
  { fields: { agent } }: KernelContext,
  forward: boolean,
  notify: (event: AgentEvent) => void,
): Sink<AgentEvent> {
  return {
    write(event) {
      notify(event)
      return forward || event.type === 'state-delta' ? agent?.write(event) : undefined
    },
  }
}

/** Keeps the first error of `onEvent` until the run has ended, so that it cannot cut the run short. */
function guarded(onEvent: NestedOptions['onEvent']): { notify(event: AgentEvent): void; throwFailure(): void } {
  let failure: { readonly error: unknown } | undefined
  return {
    notify(event) {
      try {
        onEvent?.(event)
      } catch (error) {
        failure ??= { error }
      }
    },
    throwFailure() {
      if (failure) throw failure.error
    },
  }
}

/** The input that continues an interrupted attempt: its history, with the results for its open calls so far. */
function continued(
  input: AgentInput,
  saved: Exclude<Attempt, { readonly result: unknown }>,
  answers: Answers,
  core: RunCore,
): AgentInput | ResumeInfo {
  const messages = saved.messages.slice()
  for (const { id: callId, name } of unanswered(saved.messages)) {
    const id = resultId(core, callId)
    const answer = Object.hasOwn(answers, id) ? answers[id] : undefined
    if (answer === undefined) continue
    const content = typeof answer === 'string' ? answer : JSON.stringify(answer)
    messages.push({ id, role: 'tool', callId, name, content })
  }
  const start = { ...input, messages: inOrder(messages) }
  return saved.state === undefined ? start : { ...start, state: saved.state, answers }
}

/** A long-running call of a nested run, as an open question of the outer run. */
function awaited({ id, name }: ToolCall, agentName: string, core: RunCore): Interrupt {
  return { id: resultId(core, id), reason: 'tool-result', agentName, callId: id, metadata: { tool: name } }
}

function resultId(core: RunCore, callId: string): string {
  return `${core.ids.originOf(callId)}#result`
}
