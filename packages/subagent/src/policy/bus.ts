import type { ApprovalAnswer, Awaitable, Json, ToolKind } from '@troupe/kernel'
import { KernelError } from '@troupe/kernel'
import { checkOption, checkOptionNames, got } from '@troupe/kernel/kit'
import { checkPath, identityOf } from './agent-path.ts'
import { jsonOf } from './arguments.ts'
import type { AuditEvent } from './audit.ts'

/** The data of an app's own messages by type. */
export type BusMessages = { readonly [type: string]: Json }

/** A message of the app. Contract: the bus sets `from`; `data` is a frozen copy. */
export interface BusMessage<Data extends Json = Json> {
  readonly type: string
  /** The identity of the sender: `a/b`. */
  readonly from: string
  readonly data: Data
}

/** The question whether a call may run. */
export interface ApprovalRequest {
  /** Contract: `<callId>#policy`, the same when the call runs again. */
  readonly id: string
  /** The identity of the caller: `a/b`. */
  readonly agent: string
  readonly path: readonly string[]
  readonly callId: string
  readonly runId: string
  readonly tool: string
  readonly kind: ToolKind
  /** The validated arguments as JSON, as a copy. */
  readonly args: Json
  /** The text the model wrote; an answer may replace it. */
  readonly arguments: string
  /** The question for a person: `Allow write_file?`, with the reason of the rule if it has one. */
  readonly message: string
  /** Aborts when the question is closed: another listener answered, the time is up, or the run was aborted. */
  readonly signal: AbortSignal
}

/** Answers, or leaves the question to others with `undefined`. Contract: the first answer counts; a listener that throws or gives an invalid answer has not answered. */
export type ApprovalListener = (request: ApprovalRequest) => Awaitable<ApprovalAnswer | undefined>

/** The listener for a type of message. */
export type BusListener<M extends BusMessages, T> = T extends 'approval'
  ? ApprovalListener
  : T extends 'audit'
    ? (event: AuditEvent) => void | Promise<void>
    : (message: BusMessage<T extends keyof M ? M[T] : never>) => void | Promise<void>

/** An agent's access to the bus. Contract: sends in its own name only; gives no access to the agents above. */
export interface BusHandle<M extends BusMessages = BusMessages> {
  readonly path: readonly string[]
  /** Its path in one text: `a/b`; '' for the main agent. */
  readonly identity: string
  /** Calls the listeners of a type synchronously. */
  send<T extends keyof M & string>(type: T, data: M[T]): void
  /** Makes the handle of a child. */
  as(name: string): BusHandle<M>
}

/** The application's access to the bus: it can also listen. */
export interface Bus<M extends BusMessages = BusMessages> extends BusHandle<M> {
  /** Adds a listener. Contract: returns a function that removes it; an approval still awaited from it then counts as not answered. */
  on<T extends (keyof M & string) | 'approval' | 'audit'>(type: T, listener: BusListener<M, T>): () => void
  /** Counts the listeners. */
  listeners(type?: string): number
}

/** The options of `createBus`. */
export interface BusOptions {
  /** Receives the first failure of each listener. @default console.error */
  readonly report?: (error: KernelError) => void
}

type AnyListener = (message: never) => unknown

/** One listener, and the functions that end the waits for its answer. */
export interface Subscription {
  readonly listener: AnyListener
  readonly waiting: Set<() => void>
  failed: boolean
}

const RESERVED = ['approval', 'audit']

/**
 * Makes a bus.
 * Contract: has no global state; a listener that throws or rejects is reported once, and a slow one does not delay the others.
 * @example
 * const bus = createBus()
 * const stop = bus.on('approval', async ({ message }) => ({ approved: await confirm(message) }))
 */
export function createBus<M extends BusMessages = BusMessages>(options: BusOptions = {}): Bus<M> {
  checkOptionNames('createBus', options, { report: true })
  const { report = reportToConsole } = options
  checkOption(typeof report === 'function', 'createBus', 'report must be a function', report)
  return new MessageBus(report) as unknown as Bus<M>
}

/** The implementation of `Bus`, with the members that a policy needs. */
export class MessageBus implements Bus {
  readonly path: readonly string[] = Object.freeze([])
  readonly identity = ''
  readonly #report: (error: KernelError) => void
  readonly #subscriptions = new Map<string, Set<Subscription>>()

  constructor(report: (error: KernelError) => void) {
    this.#report = report
  }

  on(type: string, listener: AnyListener): () => void {
    checkOption(typeof type === 'string' && type !== '', 'bus.on', 'type must be a text', type)
    checkOption(typeof listener === 'function', 'bus.on', 'listener must be a function', listener)
    const subscription: Subscription = { listener, waiting: new Set(), failed: false }
    const ofType = this.#subscriptions.get(type) ?? new Set()
    this.#subscriptions.set(type, ofType.add(subscription))
    return () => {
      ofType.delete(subscription)
      if (ofType.size === 0 && this.#subscriptions.get(type) === ofType) this.#subscriptions.delete(type)
      for (const stopWaiting of [...subscription.waiting]) stopWaiting()
    }
  }

  listeners(type?: string): number {
    if (type !== undefined) return this.#subscriptions.get(type)?.size ?? 0
    return [...this.#subscriptions.values()].reduce((sum, { size }) => sum + size, 0)
  }

  send(type: string, data: Json): void {
    deliver(this, this.identity, type, data)
  }

  as(name: string): BusHandle {
    return handleOf(this, [name])
  }

  subscriptions(type: string): readonly Subscription[] {
    return [...(this.#subscriptions.get(type) ?? [])]
  }

  /** Calls all listeners of a type. Contract: never throws; failures are reported. */
  publish(type: string, message: unknown): void {
    for (const subscription of this.subscriptions(type)) {
      try {
        const returned: unknown = subscription.listener(message as never)
        if (returned) Promise.resolve(returned).catch((error: unknown) => this.failed(type, subscription, error))
      } catch (error) {
        this.failed(type, subscription, error)
      }
    }
  }

  failed(type: string, subscription: Subscription, cause: unknown): void {
    if (subscription.failed) return
    subscription.failed = true
    const error = KernelError.within(`bus: a listener of ${type} failed, `, cause, 'LISTENER_FAILED', { event: type })
    try {
      this.#report(error)
    } catch {
      reportToConsole(error)
    }
  }
}

/** Contract: throws `CONFIG_INVALID` for a bus that `createBus` did not make. */
export function checkBus(bus: unknown): MessageBus | undefined {
  if (bus === undefined || bus instanceof MessageBus) return bus
  throw new KernelError('CONFIG_INVALID', `policy: bus must be made by createBus(), ${got(bus)}`)
}

function handleOf(bus: MessageBus, names: readonly string[]): BusHandle {
  const path = checkPath('bus.as', names)
  const identity = identityOf(path)
  return Object.freeze({
    path,
    identity,
    send: (type: string, data: Json) => deliver(bus, identity, type, data),
    as: (name: string) => handleOf(bus, [...path, name]),
  })
}

function deliver(bus: MessageBus, from: string, type: string, data: Json): void {
  if (RESERVED.includes(type)) {
    throw new KernelError(
      'CONFIG_INVALID',
      `bus.send: the types ${RESERVED.join(' and ')} are reserved for policies, ${got(type)}`,
    )
  }
  bus.publish(type, Object.freeze({ type, from, data: jsonOf(data) }))
}

function reportToConsole(error: KernelError): void {
  // biome-ignore lint/suspicious/noConsole: the last resort; a silent failure would be worse
  console.error(error)
}
