import type { AgentAction, InterruptRequest } from '../data/action.ts'
import { got, KernelError } from '../data/error.ts'
import type { EventDraft } from '../data/event.ts'
import { type Json, notJson } from '../data/json.ts'
import type { Callback } from '../run/callback.ts'
import type { RunCore } from '../run/run-core.ts'
import type { ThreadRef } from '../store/store.ts'
import type { Sink } from '../stream/stream.ts'
import type { Clock } from './clock.ts'
import {
  type CancelMode,
  type ContextKey,
  type ContextPatch,
  checkContextKey,
  type Ids,
  type RunContext,
} from './context.ts'
import { onlyInCall, Scope } from './scope.ts'
import { type State, TrackedState } from './state.ts'

interface Values {
  readonly key: unknown
  readonly value: unknown
  readonly rest: Values | undefined
}

/** Where in a run a context stands; shared as it is by those derived from it. */
export interface Place {
  readonly agentName: string
  readonly runPath: readonly string[]
  readonly step: string
  readonly state: TrackedState
  /** Set where it is narrower than the run's. */
  readonly signal: AbortSignal | undefined
  readonly values: Values | undefined
  readonly scope: Scope | undefined
  /** The agent that speaks here. */
  readonly agent: (Sink<EventDraft> & { readonly spanId: string }) | undefined
}

/** The one implementation of RunContext. */
export class KernelContext implements RunContext {
  readonly core: RunCore
  readonly place: Place

  constructor(core: RunCore, place: Place) {
    this.core = core
    this.place = place
  }

  get runId(): string {
    return this.core.runId
  }
  get agentName(): string {
    return this.place.agentName
  }
  get runPath(): readonly string[] {
    return this.place.runPath
  }
  get step(): string {
    return this.place.step
  }
  get session(): ThreadRef {
    return this.core.session
  }
  get state(): State {
    return this.place.state
  }
  get signal(): AbortSignal {
    return this.place.signal ?? this.core.signal
  }
  get cancelling(): CancelMode | undefined {
    return this.core.cancelling?.()
  }
  get clock(): Clock {
    return this.core.clock
  }
  get callbacks(): readonly Callback[] {
    return this.core.listeners?.callbacks ?? []
  }
  get depth(): number {
    return this.core.depth
  }
  get origin(): string {
    return this.core.parent?.origin ?? ''
  }
  get canInterrupt(): boolean {
    return this.core.canInterrupt
  }
  get acted(): boolean {
    return this.place.scope?.acted ?? false
  }
  get ids(): Ids {
    return new StepIds(this.core, this.place.step)
  }

  throwIfAborted(): void {
    this.core.throwIfAborted()
    this.place.signal?.throwIfAborted()
  }

  get<T>(key: ContextKey<T>): T | undefined {
    checkContextKey(key)
    for (let node = this.place.values; node; node = node.rest) if (node.key === key) return node.value as T
    return undefined
  }

  with<T>(key: ContextKey<T>, value: NoInfer<T>): RunContext {
    checkContextKey(key)
    const { core, place } = this
    return new KernelContext(core, { ...place, values: { key, value, rest: place.values } })
  }

  derive({ agentName, runPath, step, signal, call, state }: ContextPatch): RunContext {
    const { core, place } = this
    // Written out, because contexts are made all the time and a spread costs more.
    return new KernelContext(core, {
      agentName: agentName ?? place.agentName,
      runPath: runPath ?? place.runPath,
      step: step === undefined ? place.step : place.step === '' ? step : `${place.step}/${step}`,
      state: state ? new TrackedState(state) : place.state,
      signal: signal ?? place.signal,
      values: place.values,
      scope: call ? new Scope(call, core.within(call.callId)) : place.scope,
      agent: place.agent,
    })
  }

  emit(name: string, data: Json): void | Promise<void> {
    const broken = notJson(data)
    if (typeof name !== 'string' || name === '' || broken !== undefined) {
      const where = broken ? ` that stops being JSON at ${broken}` : ''
      throw new KernelError(
        'EVENT_INVALID',
        `emit: expected a name and plain JSON, ${got(name)} and ${got(data)}${where}`,
      )
    }
    const { core, place } = this
    if (place.agent) return place.agent.write({ type: 'custom', name, data })
    return core.recorder?.write({ type: 'custom', ...core.stamp(place.agentName, place.runPath), name, data })
  }

  sendAction(action: AgentAction): void {
    if (!this.place.scope) throw onlyInCall('sendAction')
    this.place.scope.sendAction(action)
  }

  async interrupt<T extends Json = Json>(request: InterruptRequest): Promise<T> {
    const { scope, agentName } = this.place
    if (!scope) throw onlyInCall('interrupt')
    return (await scope.interrupt(request, agentName, this.canInterrupt)) as T
  }
}

/** Names what one step makes. */
class StepIds implements Ids {
  readonly #core: RunCore
  readonly #step: string

  constructor(core: RunCore, step: string) {
    this.#core = core
    this.#step = step
  }

  next(): string {
    return this.#core.nextId(this.#step)
  }

  call(callId: string): string {
    return this.#core.claimCall(callId, this.#step)
  }
}

/** The kernel's side of a context. Contract: throws `CONFIG_INVALID` for one that the kernel did not make. */
export function internals(ctx: RunContext): KernelContext {
  if ((ctx as Partial<KernelContext> | undefined)?.core) return ctx as KernelContext
  throw new KernelError('CONFIG_INVALID', `ctx: only the kernel makes contexts; use createRunContext(), ${got(ctx)}`)
}
