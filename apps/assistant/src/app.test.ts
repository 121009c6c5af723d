import type { Store } from '@troupe/kernel'
import { expect, it } from 'vitest'
import { type App, perRequest, type Registrations, type RequestScope, singleton } from './app.ts'

// The type check of this package fails for each expected error that the compiler does not find.

/** The names of parts that are promises. */
type Promised<Parts> = { [Name in keyof Parts]: Parts[Name] extends PromiseLike<unknown> ? Name : never }[keyof Parts]

it('a dependency that the app does not have, or has with another type, does not compile', () => {
  const parts = [
    singleton(({ model }: Pick<App, 'model'>) => model),
    perRequest(({ request, agUi }) => [request, agUi]),
    // @ts-expect-error: the app has no `modle`
    singleton(({ modle }) => modle),
    // @ts-expect-error: `model` is a ChatModel
    singleton(({ model }: { model: Store }) => model),
    // @ts-expect-error: a part of the whole app sees no request
    singleton(({ request }) => request),
    // @ts-expect-error: a request has no `reqest`
    perRequest(({ reqest }) => reqest),
  ]
  expect(parts).toHaveLength(6)
})

it('a part that nobody registers does not compile', () => {
  const server: Registrations<'respond'> = { respond: perRequest(() => async () => new Response()) }
  // @ts-expect-error: every other part is missing
  const all: Registrations = { ...server }
  expect(all).toEqual(server)
})

it('no part is a promise', () => {
  const none: Promised<RequestScope>[] = []
  // @ts-expect-error: no name fits
  const some: Promised<RequestScope>[] = ['respond']
  expect([none, some]).toHaveLength(2)
})
