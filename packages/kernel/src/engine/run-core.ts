import type { Listeners } from '../callback/listeners.ts'
import type { Clock } from '../context/clock.ts'
import type { TrackedState } from '../context/state.ts'
import type { CancelMode } from '../data/cancel.ts'
import type { AgentEvent } from '../data/event.ts'
import type { JsonObject } from '../data/json.ts'
import { KernelError } from '../data/kernel-error.ts'
import { addUsage, NO_USAGE, type Usage } from '../data/message.ts'
import type { ThreadRef } from '../data/thread-ref.ts'
import type { Sink } from '../stream/sink.ts'
import { AbortState } from './abort-state.ts'
import type { Conclusion } from './conclude.ts'
import { OpenEnds } from './open-ends.ts'
import { RunErrors } from './run-errors.ts'
import { type ParentCall, RunIds } from './run-ids.ts'
import { RunSpans } from './run-spans.ts'
import { TextAndOutput } from './text-and-output.ts'

/** The settings that a core is created with. */
type CoreSettings = Pick<
  RunCore,
  | 'runId'
  | 'session'
  | 'clock'
  | 'listeners'
  | 'canInterrupt'
  | 'cancelling'
  | 'beforeEffect'
  | 'depth'
  | 'runPath'
  | 'parent'
  | 'outer'
> & { readonly makeKey: () => string }

/** A list of messages. */
export interface MessageList {
  /** Puts messages into the order of these ids. */
  order(ids: readonly string[]): void
}

/** The parts of one run that all its contexts share. */
export class RunCore {
  readonly runId: string
  readonly session: ThreadRef
  readonly clock: Clock
  readonly listeners: Listeners | undefined
  readonly canInterrupt: boolean
  readonly cancelling: (() => CancelMode | undefined) | undefined
  /** Asks the host whether an effect may begin. */
  readonly beforeEffect: (() => void | Promise<void>) | undefined
  readonly depth: number
  /** The agents that led to the run. */
  readonly runPath: readonly string[]
  readonly parent: ParentCall | undefined
  /** The run around a nested run. */
  readonly outer: RunCore | undefined
  readonly abortState: AbortState
  readonly ids: RunIds
  readonly openEnds: OpenEnds = new OpenEnds()
  readonly textAndOutput: TextAndOutput = new TextAndOutput()
  /** Undefined if the run has no callbacks. */
  readonly spans: RunSpans | undefined
  #errors: RunErrors | undefined
  readonly #makeKey: () => string
  #key: string | undefined
  usage: Usage = NO_USAGE
  /** The number of this attempt to carry out the root run, once its host has opened it. */
  attempt: number | undefined
  /** What the callbacks have kept with the run that this one goes on from. */
  kept: JsonObject | undefined
  /** The state that the run began with, once it has begun. */
  state: TrackedState | undefined
  /** The sink at the end of the run, once it has begun. */
  recorder: (Sink<AgentEvent> & MessageList) | undefined
  /** Further lists of the messages of the run, in the order in which they came. */
  messageLists: Set<MessageList> | undefined
  /** Whether the consumer has left: no more events are shown, and no new effect may begin. */
  consumerLeft = false
  /** Whether the run has ended and refuses further events and spans. */
  ended = false

  constructor({
    runId,
    session,
    clock,
    listeners,
    canInterrupt,
    cancelling,
    beforeEffect,
    depth,
    runPath,
    parent,
    outer,
    makeKey,
  }: CoreSettings) {
    this.runId = runId
    this.session = session
    this.clock = clock
    this.listeners = listeners
    this.canInterrupt = canInterrupt
    this.cancelling = cancelling
    this.beforeEffect = beforeEffect
    this.depth = depth
    this.runPath = runPath
    this.parent = parent
    this.outer = outer
    this.#makeKey = makeKey
    this.attempt = outer?.attempt
    this.abortState = new AbortState(clock, depth)
    this.ids = new RunIds(runId, parent)
    this.spans = listeners && new RunSpans(listeners, this.openEnds, this)
  }

  get errors(): RunErrors {
    this.#errors ??= new RunErrors()
    return this.#errors
  }

  /** Unique over all owners and threads. */
  get key(): string {
    this.#key ??= this.#makeKey()
    return this.#key
  }

  /** Whether the root run was aborted, and not only this run or a part of it. */
  get rootAborted(): boolean {
    return this.outer ? this.outer.rootAborted : this.abortState.aborted
  }

  /** Concludes how this run, or an agent in it with a narrower signal, ended early. */
  conclude(thrown: unknown, signal?: AbortSignal): Conclusion {
    return this.errors.conclude(thrown, this.abortState.errorWith(signal), this.cancelling)
  }

  /** Ends every agent and span that is still open. */
  closeOpenEnds(): void {
    this.openEnds.close(this.conclude(undefined).error)
  }

  /** Contract: no nested run outlives the run around it. */
  endNested(): Promise<unknown> | undefined {
    const settled = this.openEnds.settleRuns()
    if (settled) {
      this.abortState.abort(new KernelError('ABORTED', `run ${this.runId}: ended while a nested run was under way`))
    }
    return settled
  }

  /** Refuses further events and spans. */
  end(): void {
    this.ended = true
    this.spans?.close()
  }

  addUsage(usage: Usage): void {
    this.usage = addUsage(this.usage, usage)
  }
}
