import { JOURNAL } from '../agent/journal.ts'
import type { Clock } from '../context/clock.ts'
import { type ContextKey, type ContextPatch, checkContextKey, type Ids, type RunContext } from '../context/context.ts'
import { type State, TrackedState } from '../context/state.ts'
import type { AgentAction, InterruptRequest } from '../data/action.ts'
import type { CancelMode } from '../data/cancel.ts'
import type { EventDraft } from '../data/event.ts'
import { type Json, notJson } from '../data/json.ts'
import { got, KernelError } from '../data/kernel-error.ts'
import type { ThreadRef } from '../data/thread-ref.ts'
import { handled } from '../stream/channel.ts'
import type { Sink } from '../stream/sink.ts'
import { CallProgress, onlyInCall } from './call-progress.ts'
import { performStep } from './perform-step.ts'
import type { RunCore } from './run-core.ts'
import type { RunIds } from './run-ids.ts'

interface Values {
  readonly key: unknown
  readonly value: unknown
  readonly rest: Values | undefined
}

/** The fields of a context; derived contexts share them unless they override them. */
interface ContextFields {
  readonly agentName: string
  readonly runPath: readonly string[]
  readonly step: string
  readonly state: TrackedState
  /** Set only if it is narrower than the run's signal. */
  readonly signal: AbortSignal | undefined
  readonly values: Values | undefined
  readonly progress: CallProgress | undefined
  readonly iteration: number | undefined
  /** The agent whose events are written here. */
  readonly agent: (Sink<EventDraft> & { readonly spanId: string }) | undefined
}

/** The one implementation of RunContext. */
export class KernelContext implements RunContext {
  readonly core: RunCore
  readonly fields: ContextFields
  /** The hook or part of a call that asks questions here; '' for the tool or the agent itself. */
  readonly asker: string

  constructor(core: RunCore, fields: ContextFields, asker = '') {
    this.core = core
    this.fields = fields
    this.asker = asker
  }

  get runId(): string {
    return this.core.runId
  }
  get agentName(): string {
    return this.fields.agentName
  }
  get runPath(): readonly string[] {
    return this.fields.runPath
  }
  get step(): string {
    return this.fields.step
  }
  get session(): ThreadRef {
    return this.core.session
  }
  get state(): State {
    return this.fields.state
  }
  get signal(): AbortSignal {
    return this.fields.signal ?? this.core.abortState.signal
  }
  get cancelling(): CancelMode | undefined {
    return this.core.cancelling?.()
  }
  get clock(): Clock {
    return this.core.clock
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
    return this.fields.progress?.acted ?? false
  }
  get ids(): Ids {
    return new StepIds(this.core.ids, this.fields.step)
  }

  throwIfAborted(): void {
    this.core.abortState.throwIfAborted()
    this.fields.signal?.throwIfAborted()
  }

  get<T>(key: ContextKey<T>): T | undefined {
    checkContextKey(key)
    for (let node = this.fields.values; node; node = node.rest) if (node.key === key) return node.value as T
    return undefined
  }

  with<T>(key: ContextKey<T>, value: NoInfer<T>): RunContext {
    checkContextKey(key)
    const { core, fields } = this
    const own = {
      agentName: fields.agentName,
      runPath: fields.runPath,
      step: fields.step,
      state: fields.state,
      signal: fields.signal,
      values: { key, value, rest: fields.values },
      progress: fields.progress,
      iteration: fields.iteration,
      agent: fields.agent,
    }
    return new KernelContext(core, own, this.asker)
  }

  derive({ agentName, runPath, step, signal, call, asker, iteration, state }: ContextPatch): RunContext {
    const { core, fields } = this
    // Written out because contexts are created often and a spread is slower.
    const own = {
      agentName: agentName ?? fields.agentName,
      runPath: runPath ?? fields.runPath,
      step: step === undefined ? fields.step : fields.step === '' ? step : `${fields.step}/${step}`,
      state: state ? TrackedState.of(state) : fields.state,
      signal: signal ?? fields.signal,
      values: fields.values,
      progress: call ? new CallProgress(call, core.ids.originOf(call.callId ?? fields.step)) : fields.progress,
      iteration: iteration ?? fields.iteration,
      agent: fields.agent,
    }
    return new KernelContext(core, own, asker ?? (call ? '' : this.asker))
  }

  emit(name: string, data: Json): void | Promise<void> {
    const broken = notJson(data)
    if (typeof name !== 'string' || name === '' || broken !== undefined) {
      const where = broken ? ` that is not JSON at ${broken}` : ''
      throw new KernelError(
        'EVENT_INVALID',
        `emit: expected a name and plain JSON, ${got(name)} and ${got(data)}${where}`,
      )
    }
    const { core, fields } = this
    if (fields.agent) return fields.agent.write({ type: 'custom', name, data })
    return core.recorder?.write({ type: 'custom', ...core.ids.stamp(fields.agentName, fields.runPath), name, data })
  }

  async perform<T extends Json | void>(name: string, work: () => Promise<T>): Promise<T> {
    if (typeof name !== 'string' || name === '' || typeof work !== 'function') {
      throw new KernelError('VALIDATION_FAILED', `perform: expected a name and a function, ${got(name)}`)
    }
    const permitted = async () => {
      await this.core.beforeEffect?.()
      return work()
    }
    const journal = this.get(JOURNAL)
    if (!journal) return permitted()
    const { step, signal } = this.fields
    const id = this.core.ids.next(step === '' ? name : `${step}/${name}`)
    return performStep(journal, id, this.core, signal, permitted)
  }

  sendAction(action: AgentAction): void {
    if (!this.fields.progress) throw onlyInCall('sendAction')
    this.fields.progress.sendAction(action)
  }

  interrupt<T extends Json = Json>(request: InterruptRequest): Promise<T> {
    const { progress } = this.fields
    const answer = progress
      ? progress.interrupt(request, this, this.canInterrupt)
      : Promise.reject(onlyInCall('interrupt'))
    // A tool that forgets to await the answer has asked all the same, and must not end the process.
    return handled(answer as Promise<T>)
  }
}

/** The ids of one step. */
class StepIds implements Ids {
  readonly #ids: RunIds
  readonly #step: string

  constructor(ids: RunIds, step: string) {
    this.#ids = ids
    this.#step = step
  }

  next(): string {
    return this.#ids.next(this.#step)
  }

  call(callId: string): string {
    return this.#ids.claimCall(callId, this.#step)
  }
}

/** Returns the kernel's implementation of a context. Contract: throws `CONFIG_INVALID` for a context that the kernel did not make. */
export function internals(ctx: RunContext): KernelContext {
  if ((ctx as Partial<KernelContext> | undefined)?.core) return ctx as KernelContext
  throw new KernelError('CONFIG_INVALID', `ctx: only the kernel makes contexts; use createRunContext(), ${got(ctx)}`)
}
