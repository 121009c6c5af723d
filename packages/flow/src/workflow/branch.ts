import {
  type AgentEvent,
  type ErrorInfo,
  type Interrupt,
  type Json,
  KernelError,
  type Message,
  type Sink,
  type ToolMessage,
} from '@troupe/kernel'
import { unanswered, unknownResult } from '@troupe/kernel/history'
import { type AbortScope, abortScope, sinkTo } from '@troupe/kernel/kit'
import { TEXT_AND_OUTPUT, type TextAndOutput } from '@troupe/kernel/run'
import type { ThreadLog } from '../thread-log.ts'
import type { FlowOutcome, Steering } from '../tree/flow-outcome.ts'
import { OverlayState } from './overlay-state.ts'
import type { Stage } from './workflow.ts'

/** The state of a branch that a suspended workflow saves. */
export type BranchState = {
  readonly done: boolean
  /** The ids of its messages and of its calls; results for these calls belong to this branch. */
  readonly said: readonly string[]
  readonly calls: readonly string[]
  readonly open: number
  readonly interrupts?: readonly Interrupt[]
  readonly callIds?: readonly string[]
  readonly inner?: Json
  readonly action?: Steering
  readonly error?: ErrorInfo
}

export function isBranchState(state: Json): state is BranchState {
  const { done, said, calls, open, inner, interrupts = [], callIds = [] } = (state ?? {}) as Partial<BranchState>
  const lists = [said, calls, callIds].every(
    (list) => Array.isArray(list) && list.every((id) => typeof id === 'string'),
  )
  const asked = Array.isArray(interrupts) && interrupts.every((interrupt) => typeof interrupt?.id === 'string')
  return typeof done === 'boolean' && lists && asked && Number.isInteger(open) && (done || inner !== undefined)
}

/** One branch of a parallel workflow. */
export class Branch {
  readonly name: string
  readonly #stage: Stage
  readonly #index: number
  readonly #log: ThreadLog
  readonly #state: OverlayState
  readonly #scope: AbortScope
  readonly #saved: BranchState | undefined
  readonly #sink: Sink<AgentEvent>
  /** Whether it has run since the workflow was started or resumed. */
  #hasRun = false
  #outcome: FlowOutcome | undefined
  #thrown: KernelError | undefined

  constructor(stage: Stage, index: number, past: readonly Message[], tolerant: boolean, saved?: BranchState) {
    this.name = stage.agents[index]?.name ?? ''
    this.#stage = stage
    this.#index = index
    this.#log = stage.flowContext.log.fork(past)
    this.#state = new OverlayState(stage.ctx.state)
    this.#scope = abortScope(stage.ctx.signal)
    this.#saved = saved
    this.#sink = tolerant ? withoutErrors(stage.sink, stage.ctx.runId) : stage.sink
  }

  get failure(): KernelError | undefined {
    const error = this.#outcome?.end?.error ?? (this.#hasRun ? undefined : this.#saved?.error)
    return this.#thrown ?? (error && KernelError.from(error))
  }

  get cancelled(): boolean {
    const { cancelling, signal } = this.#stage.ctx
    const stopped = this.#thrown?.code === 'ABORTED' && cancelling !== undefined
    return stopped || this.#outcome?.end?.outcome === 'cancelled' || signal.aborted
  }

  /** The text and output of the branch; undefined if it has said nothing in this run. */
  get textAndOutput(): TextAndOutput | undefined {
    const said = this.#log.textAndOutput
    const complete = !this.failure && !this.#outcome?.suspended
    return said && (said.text(complete) !== '' || said.output !== undefined) ? said : undefined
  }

  /** The messages of the branch in this run. */
  get messageIds(): readonly string[] {
    return this.#log.newMessages.map(({ id }) => id)
  }

  /** Contract: never rejects. */
  async run(): Promise<void> {
    const { ctx, flowContext } = this.#stage
    if (this.#saved && !this.#canContinue(this.#saved)) return
    this.#hasRun = true
    if (this.#saved) this.#log.textAndOutput?.expect(this.#log.messages)
    const { textAndOutput } = this.#log
    const branchCtx = this.#stage
      .contextAt(`branch:${this.#index}`)
      .derive({ signal: this.#scope.signal, state: this.#state })
      .with(TEXT_AND_OUTPUT, textAndOutput && { runId: ctx.runId, textAndOutput })
    try {
      if (ctx.cancelling) throw new KernelError('ABORTED', `parallel ${ctx.agentName}: cancelled before ${this.name}`)
      const inner = this.#saved?.inner
      const own = { ...flowContext, log: this.#log, branch: branchCtx.step }
      this.#outcome = await this.#stage.tryAgent(this.#index, branchCtx, inner, own, this.#sink)
    } catch (error) {
      this.#thrown = KernelError.from(error)
    }
  }

  stop(reason: KernelError): void {
    this.#scope.abort(reason)
  }

  /** Adds its messages and state changes to those of the workflow. */
  join(): void {
    this.#scope[Symbol.dispose]()
    this.#state.merge()
    if (this.failure) for (const { result } of this.#unansweredCalls()) this.#log.add(result)
    this.#stage.flowContext.log.join(this.#log)
  }

  /** The calls that are left without a result after a failure, each with the neutral result it gets. */
  #unansweredCalls(): readonly { readonly caller: string; readonly result: ToolMessage }[] {
    const { messages } = this.#log
    return unanswered(messages).map((call) => {
      const made = messages.findLast((message) => callsOf(message).includes(call.id))
      const caller = (made?.role === 'assistant' && made.agentName) || this.name
      return { caller, result: unknownResult(call, caller) }
    })
  }

  /** Reports a failure that is tolerated. Contract: call it before `join`. */
  async reportFailure(): Promise<void> {
    const { failure, name } = this
    if (!this.#hasRun || !failure) return
    const { runId, runPath, agentName } = this.#stage.ctx
    for (const { caller, result } of this.#unansweredCalls()) {
      const { id: messageId, callId, name, content } = result
      const stamp = { runId, agentName: caller, runPath: [...runPath, agentName] }
      await this.#sink.write({ type: 'tool-end', ...stamp, callId, messageId, name, status: 'failed', content })
    }
    await this.#stage.ctx.emit('branch-failed', { agentName: name, error: failure.toJSON() })
  }

  state(): BranchState {
    if (!this.#hasRun && this.#saved) return this.#saved
    const { newMessages } = this.#log
    const { suspended, action } = this.#outcome ?? {}
    const open = suspended ? unanswered(this.#log.messages).length : 0
    const before = this.#saved
    return {
      done: suspended === undefined,
      said: [...(before?.said ?? []), ...newMessages.map(({ id }) => id)],
      calls: [...(before?.calls ?? []), ...newMessages.flatMap(callsOf)],
      open,
      ...(suspended && { interrupts: suspended.interrupts, inner: suspended.state }),
      ...(suspended?.callIds && { callIds: suspended.callIds }),
      ...(action && { action }),
      ...(this.failure && { error: this.failure.toJSON() }),
    }
  }

  /** Whether an answer or result has come that it was waiting for. */
  #canContinue({ done, interrupts = [], open }: BranchState): boolean {
    if (done) return false
    const answers = this.#stage.resumption?.answers ?? {}
    return interrupts.some(({ id }) => Object.hasOwn(answers, id)) || unanswered(this.#log.messages).length < open
  }
}

function callsOf(message: Message): readonly string[] {
  return message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : []
}

/** Drops the `error` events of a tolerated failure, because they would count as errors of the run; its `agent-end` reports the failure. */
function withoutErrors(sink: Sink<AgentEvent>, runId: string): Sink<AgentEvent> {
  return sinkTo(sink, (event: AgentEvent) =>
    event.type === 'error' && event.runId === runId ? undefined : sink.write(event),
  )
}
