import type { Clock } from '../context/clock.ts'
import type { AgentEvent } from '../data/event.ts'
import { type Json, type JsonObject, notJson } from '../data/json.ts'
import { KernelError } from '../data/kernel-error.ts'
import { safeReport } from '../kit/safe-report.ts'
import { type Callback, checkCallback, type RunInfo, type Span, type SpanHooks, type Spans } from './callback.ts'

type Component = keyof Spans
type Hook = (info: RunInfo, payload: never) => void | Promise<void>
type SpanListener = { readonly callback: Callback; readonly hooks: SpanHooks<never, never> }
type PartListener = {
  readonly callback: Callback
  readonly run: { onPart(info: RunInfo, event: AgentEvent): unknown }
}

const HANG_MS = 10_000

/** Calls callbacks and isolates their failures; shared by a root run and all runs nested in it. */
export class Listeners {
  readonly callbacks: readonly Callback[]
  readonly parts: readonly PartListener[]
  readonly #report: (error: KernelError) => void
  readonly #clock: Clock
  /** Those with hooks for a component, of all agents. */
  readonly #listening: { [component in Component]?: readonly SpanListener[] } = {}
  readonly #pending: Map<Callback, number> = new Map()
  readonly #reported: Set<Callback> = new Set()
  #cancelHangCheck: (() => void) | undefined

  constructor(callbacks: readonly Callback[], clock: Clock, report?: (error: KernelError) => void) {
    this.#clock = clock
    this.#report = safeReport(report)
    for (const callback of callbacks) checkCallback(callback)
    this.callbacks = callbacks.some(({ forRun }) => forRun) ? callbacks.flatMap((one) => this.#forRun(one)) : callbacks
    this.parts = this.callbacks.flatMap((callback) => {
      const { run } = callback
      return run?.onPart ? [{ callback, run: run as PartListener['run'] }] : []
    })
  }

  /** What the callbacks keep for a run that goes on from this one, by name; undefined if they keep nothing. */
  keep(): JsonObject | undefined {
    let kept: Record<string, Json> | undefined
    for (const callback of this.callbacks) {
      if (!callback.keep) continue
      try {
        const value = callback.keep()
        if (value === undefined) continue
        const broken = notJson(value)
        if (broken !== undefined) throw new TypeError(`keep() gave what is not plain JSON at ${broken || 'its root'}`)
        kept ??= {}
        kept[callback.name] = value
      } catch (error) {
        this.#failed(callback, error)
      }
    }
    return kept
  }

  #forRun(callback: Callback): readonly Callback[] {
    if (!callback.forRun) return [callback]
    try {
      const own = callback.forRun()
      checkMade(own)
      return [own]
    } catch (error) {
      this.#failed(callback, error)
      return []
    }
  }

  part(info: RunInfo, event: AgentEvent): void {
    for (let i = 0; i < this.parts.length; i++) {
      const { callback, run } = this.parts[i] as PartListener
      if (callback.agents && !callback.agents.includes(event.agentName)) continue
      try {
        // An async function is assignable to a hook that returns nothing.
        const pending: unknown = run.onPart(info, event)
        if (pending) this.#watch(callback, pending)
      } catch (error) {
        this.#failed(callback, error)
      }
    }
  }

  /** Opens a span if a callback has hooks for its component. */
  open<C extends Component>(
    info: RunInfo & { readonly component: C },
    input: Spans[C]['input'],
  ): OpenSpan<C> | undefined {
    const { component, agentName } = info
    this.#listening[component] ??= this.callbacks.flatMap((callback) => {
      const hooks = callback[component]
      return hooks ? [{ callback, hooks }] : []
    })
    const listening = this.#listening[component].filter(
      ({ callback: { agents } }) => agents?.includes(agentName) ?? true,
    )
    if (listening.length === 0) return undefined
    this.callHook(listening, 'onStart', info, input)
    return new OpenSpan(this, listening, info)
  }

  callHook(
    listening: readonly SpanListener[],
    hook: keyof SpanListener['hooks'],
    info: RunInfo,
    payload: unknown,
  ): void {
    for (const { callback, hooks } of listening) {
      try {
        const pending = (hooks[hook] as Hook | undefined)?.call(hooks, info, payload as never)
        if (pending) this.#watch(callback, pending)
      } catch (error) {
        this.#failed(callback, error)
      }
    }
  }

  /** Called once, when the root run has ended: reports hooks that are still pending after `HANG_MS`. */
  close(): void {
    if (this.#pending.size === 0) return
    const check = () => {
      for (const callback of this.#pending.keys()) {
        this.#failed(callback, `a hook is still pending ${HANG_MS} ms after the run ended`)
      }
    }
    this.#cancelHangCheck = this.#clock.after(HANG_MS, check, false)
  }

  #watch(callback: Callback, pending: unknown): void {
    this.#pending.set(callback, (this.#pending.get(callback) ?? 0) + 1)
    const settled = () => {
      const left = (this.#pending.get(callback) ?? 1) - 1
      if (left > 0) this.#pending.set(callback, left)
      else this.#pending.delete(callback)
      if (this.#pending.size === 0) this.#cancelHangCheck?.()
    }
    Promise.resolve(pending).then(settled, (error: unknown) => {
      settled()
      this.#failed(callback, error)
    })
  }

  #failed(callback: Callback, cause: unknown): void {
    if (this.#reported.has(callback)) return
    this.#reported.add(callback)
    const { name } = callback
    this.#report(KernelError.within(`callback ${name}: `, cause, 'CALLBACK_FAILED', { callback: name }))
  }
}

const checkedClasses = new WeakSet<object>()

/** Checks what `forRun` has made. Contract: of the instances of a class only the first, because every run makes one. */
function checkMade(made: Callback): void {
  const kind = Object.getPrototypeOf(Object(made))
  if (checkedClasses.has(kind)) return
  checkCallback(made)
  if (kind && kind !== Object.prototype) checkedClasses.add(kind)
}

/** A span that at least one callback observes. */
class OpenSpan<C extends Component> implements Span<C> {
  readonly #listeners: Listeners
  readonly #listening: readonly SpanListener[]
  readonly #info: RunInfo
  #open = true
  /** Called once, when the span closes. */
  onClose: (() => void) | undefined

  constructor(listeners: Listeners, listening: readonly SpanListener[], info: RunInfo) {
    this.#listeners = listeners
    this.#listening = listening
    this.#info = info
  }

  end(output: Spans[C]['output']): void {
    this.#close('onEnd', output)
  }

  fail(error: unknown): void {
    this.#close('onError', KernelError.from(error))
  }

  #close(hook: 'onEnd' | 'onError', payload: unknown): void {
    if (!this.#open) return
    this.#open = false
    this.onClose?.()
    this.#listeners.callHook(this.#listening, hook, this.#info, payload)
  }
}
