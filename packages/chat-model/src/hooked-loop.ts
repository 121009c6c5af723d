import {
  type AgentAction,
  type AgentEvent,
  type EventDraft,
  type Interrupt,
  type Json,
  KernelError,
  type Message,
  type RunContext,
  type RunResult,
  type Sink,
  type ToolCall,
} from '@troupe/kernel'
import { inCallOrder, messageOf, openCalls } from '@troupe/kernel/history'
import { NO_USAGE } from '@troupe/kernel/kit'
import { setTextAndOutput, TextAndOutput } from '@troupe/kernel/run'
import { abortError } from './errors/abort-error.ts'
import { callsBeside, isAsking, Loop, type LoopParts, writeQuestions } from './loop.ts'
import type { RunEnd } from './loop-state.ts'
import { type Plan, withToolbox } from './plan.ts'

/** Runs a loop between the `beforeAgent` and the `afterAgent` hooks of its agent. Contract: `afterAgent` gets the result however the run ends. */
export async function hookedLoop(plan: Plan, parts: LoopParts): Promise<void> {
  const { chain } = plan
  const { ctx, config, questions, from } = parts
  const said = new SaidSoFar(parts)
  let loop: Loop | undefined
  let reached = 0
  let current = ctx
  let failure: Thrown | undefined
  try {
    const prepared = await chain.beforeAgent(ctx, config, (handlers, reachedCtx) => {
      reached = handlers
      current = reachedCtx
    })
    questions?.throwIfAsked()
    const tools = withToolbox(plan, plan.toolbox.holding(config.tools))
    loop = new Loop(tools, { ...parts, ctx: prepared, sink: said })
    await loop.run()
  } catch (error) {
    if (!isAsking(ctx, questions)) failure = { error }
  }
  if (loop?.action) said.endsWith(loop.action)
  const before = questions?.asked.length
  try {
    await chain.afterAgent(loop?.dialogue.ctx ?? current, said.result(loop, failure), reached)
  } catch (error) {
    if (questions?.asked.length === before) failure ??= { error }
  }
  if (failure) throw failure.error
  if (loop) return loop.finish(said.end(loop.action))
  // A hook asks before the first turn: the run begins again where it would have begun now.
  const state = { ...from, answers: parts.answers }
  await writeQuestions(parts, questions?.asked ?? [], state, callsBeside(from.parked, []))
}

type Thrown = { readonly error: unknown }

/** What a run has said so far, on its way to the sink. */
class SaidSoFar implements Sink<EventDraft> {
  readonly #parts: LoopParts
  /** The history that the run began with. */
  readonly #before: readonly Message[]
  readonly #messages: Message[] = []
  readonly #textAndOutput: TextAndOutput

  constructor(parts: LoopParts) {
    const { from, config, ctx } = parts
    this.#parts = parts
    this.#before = config.input.messages
    this.#textAndOutput = from.end ? TextAndOutput.of(from.end) : new TextAndOutput()
    if (from.end) setTextAndOutput(ctx, this.#textAndOutput)
    else this.#textAndOutput.expect(this.#before)
  }

  get closed(): boolean {
    return this.#parts.sink.closed ?? false
  }

  write(draft: EventDraft): void | Promise<void> {
    const { type } = draft
    if (type === 'message-end' || type === 'tool-end' || type === 'action') this.#note(draft)
    return this.#parts.sink.write(draft)
  }

  #note(draft: EventDraft): void {
    const event = (draft.runId === undefined ? { ...this.#parts.stamp, ...draft } : draft) as AgentEvent
    const message = messageOf(event)
    if (message) this.#messages.push(message)
    this.#textAndOutput.update(event)
  }

  /** Notes the action that the run ends with, which is written after the hooks. */
  endsWith(action: AgentAction): void {
    this.#textAndOutput.update({ type: 'action', ...this.#parts.stamp, action })
  }

  /** How the run ends, if a hook after it asks. */
  end(action: AgentAction | undefined): RunEnd {
    const { output } = this.#textAndOutput
    const text = this.#textAndOutput.text(true)
    return { text, ...(output !== undefined && { output }), ...(action && { action }) }
  }

  /** The result of the run, as its `run-end` shows it. */
  result(loop: Loop | undefined, failure: Thrown | undefined): RunResult<Json> {
    const { ctx, questions, from } = this.#parts
    const { usage = NO_USAGE, messages: history = [] } = loop?.dialogue ?? {}
    const { output } = this.#textAndOutput
    const interrupts = loop?.asked ?? questions?.asked ?? []
    const error = earlyEnd(ctx, failure)
    const runAgain = () => loop?.runAgain ?? callsBeside(from.parked, [])
    const waiting = error ? [] : waitingCalls(openCalls(history), interrupts, runAgain)
    const outcome = error ? outcomeOf(ctx, error) : interrupts.length > 0 ? 'interrupted' : 'complete'
    return {
      outcome,
      text: this.#textAndOutput.text(outcome === 'complete' && waiting.length === 0),
      messages: inCallOrder(this.#messages, this.#before),
      usage,
      ...(output !== undefined && { output }),
      ...(error && { error: error.toJSON() }),
      ...(outcome === 'interrupted' && { interrupts }),
      ...(waiting.length > 0 && { openCallIds: waiting }),
    }
  }
}

/** The calls that await their result from outside. */
function waitingCalls(
  open: readonly ToolCall[],
  interrupts: readonly Interrupt[],
  runAgain: () => readonly string[],
): readonly string[] {
  if (open.length === 0) return []
  const asked = new Set([...interrupts.map(({ callId }) => callId), ...runAgain()])
  return open.map(({ id }) => id).filter((id) => !asked.has(id))
}

/** The error that ends a run; undefined if it is complete or waits for answers. */
function earlyEnd(ctx: RunContext, failure: Thrown | undefined): KernelError | undefined {
  try {
    ctx.throwIfAborted()
  } catch (reason) {
    return abortError(reason)
  }
  return failure && KernelError.from(failure.error)
}

/** Contract: as the kernel decides it; an error is a cancel only if somebody wanted the run to stop. */
function outcomeOf(ctx: RunContext, { code }: KernelError): 'cancelled' | 'failed' {
  return code === 'ABORTED' && (ctx.signal.aborted || ctx.cancelling) ? 'cancelled' : 'failed'
}
