import { type Json, KernelError } from '@troupe/kernel'
import { checkOption, checkOptionNames, got, safeReport } from '@troupe/kernel/kit'
import { checkPath, identityOf } from './agent-path.ts'
import type { Bus, BusHandle, BusMessages, BusOptions } from './bus.ts'
import { jsonOf } from './json-copy.ts'

type AnyListener = (message: never) => unknown

/** One listener, and the functions that end the waits for its answer. */
interface Subscription {
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
  const { report } = options
  checkOption(report === undefined || typeof report === 'function', 'createBus', 'report must be a function', report)
  return new MessageBus(safeReport(report)) as unknown as Bus<M>
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

  /** Calls all listeners of a type. Contract: never throws; failures are reported. */
  publish(type: string, message: unknown): void {
    for (const subscription of this.#listening(type)) {
      try {
        const returned: unknown = subscription.listener(message as never)
        if (returned) Promise.resolve(returned).catch((error: unknown) => this.#failed(type, subscription, error))
      } catch (error) {
        this.#failed(type, subscription, error)
      }
    }
  }

  /**
   * Asks all listeners of a type at the same time.
   * Contract: gives a promise for each, which never rejects; it is `undefined` if the listener does not answer, fails or is removed, or if the message's signal aborts first.
   */
  ask<Answer>(
    type: string,
    message: { readonly signal: AbortSignal },
    read: (answer: unknown) => Answer,
  ): readonly Promise<Answer | undefined>[] {
    return this.#listening(type).map(async (subscription) => {
      const stopped = Promise.withResolvers<undefined>()
      const stopWaiting = () => stopped.resolve(undefined)
      subscription.waiting.add(stopWaiting)
      message.signal.addEventListener('abort', stopWaiting, { once: true })
      const answer = await Promise.race([this.#answer(type, subscription, message, read), stopped.promise])
      subscription.waiting.delete(stopWaiting)
      message.signal.removeEventListener('abort', stopWaiting)
      return answer
    })
  }

  async #answer<Answer>(
    type: string,
    subscription: Subscription,
    message: { readonly signal: AbortSignal },
    read: (answer: unknown) => Answer,
  ): Promise<Answer | undefined> {
    try {
      const answer: unknown = await subscription.listener(message as never)
      return answer === undefined ? undefined : read(answer)
    } catch (error) {
      // A listener that gives up because no answer is needed any more has not failed.
      if (!message.signal.aborted) this.#failed(type, subscription, error)
      return undefined
    }
  }

  #listening(type: string): readonly Subscription[] {
    return [...(this.#subscriptions.get(type) ?? [])]
  }

  #failed(type: string, subscription: Subscription, cause: unknown): void {
    if (subscription.failed) return
    subscription.failed = true
    this.#report(KernelError.within(`bus: a listener of ${type} failed, `, cause, 'LISTENER_FAILED', { event: type }))
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
