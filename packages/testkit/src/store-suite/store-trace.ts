import type { Store } from '@troupe/kernel'
import { errorText, shown } from '../fault.ts'

/** The last calls of one clause, whichever store took them. */
export class StoreTrace {
  readonly #calls: { readonly asked: string; answer: string }[] = []

  /** Stands in front of a store. Contract: the calls go to the ports themselves, which may be objects with secrets. */
  watch(store: Store): Store {
    return {
      threads: this.#port(store, 'threads'),
      records: this.#port(store, 'records'),
      runLog: this.#port(store, 'runLog'),
      journal: this.#port(store, 'journal'),
      leases: this.#port(store, 'leases'),
      grants: this.#port(store, 'grants'),
      ...(store.counters && { counters: this.#port(store, 'counters') }),
      ...(store.facts && { facts: this.#port(store, 'facts') }),
      ...(store.blobs && { blobs: this.#port(store, 'blobs') }),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }
  }

  toString(): string {
    if (this.#calls.length === 0) return ''
    return ['The last calls:', ...this.#calls.slice(-SHOWN).map(({ asked, answer }) => `  ${asked} ${answer}`)].join(
      '\n',
    )
  }

  #port<Name extends keyof Omit<Store, symbol>>(store: Store, name: Name): NonNullable<Store[Name]> {
    return new Proxy({} as NonNullable<Store[Name]>, {
      get: (_, method) => {
        const port = store[name] as unknown as Record<PropertyKey, unknown>
        const found = port[method]
        if (typeof found !== 'function') return found
        return (...args: readonly unknown[]) => {
          const call = {
            asked: `${name}.${String(method)}(${args.map(inShort).join(', ')})`,
            answer: 'has not answered',
          }
          this.#calls.push(call)
          const returned: unknown = found.apply(port, args)
          if (returned instanceof Promise) {
            returned.then(
              (value) => (call.answer = `gave ${inShort(value)}`),
              (error) => (call.answer = `failed with ${errorText(error)}`),
            )
          } else call.answer = 'began'
          return returned
        }
      },
    })
  }
}

const SHOWN = 4
const LONGEST = 160

function inShort(value: unknown): string {
  const { app, user, threadId, ...rest } = (value ?? {}) as Record<string, unknown>
  const isRef = threadId !== undefined && Object.keys(rest).length === 0
  return shown(isRef ? `${app}/${user}/${threadId}` : value, LONGEST)
}
