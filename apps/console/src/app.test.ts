import type { ChatModel, Store } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { asFunction, asValue, createContainer, type Resolver } from 'awilix'
import { expect, expectTypeOf, it } from 'vitest'
import { type App, type MakeAgent, type MakeHandler, type Registrations, singleton } from './app.ts'

// The type check of this package fails for each expected error that the compiler does not find.

const model = scriptedModel(['Hi'])

function resolve<Part>(part: Resolver<Part>): Part {
  return createContainer({ strict: true })
    .register({ model: asValue(model), part })
    .resolve('part')
}

it('a part says what it needs by name, or with the type that the app gives it', () => {
  const byName = singleton(({ model, store }) => [model, store] as const)
  expectTypeOf(byName.resolve).returns.toEqualTypeOf<readonly [ChatModel, Store]>()
  expect(resolve(singleton(({ model }) => model.name))).toBe('scripted')
  expect(resolve(singleton(({ model }: Pick<App, 'model'>) => model.name))).toBe('scripted')
})

it('a dependency that the app does not have does not compile, and is not found', () => {
  // @ts-expect-error: the app has no `modle`
  expect(() => resolve(singleton(({ modle }) => modle))).toThrow(/modle/)
  // @ts-expect-error: nor has it one if the part says so
  expect(() => resolve(singleton(({ modle }: { modle: ChatModel }) => modle))).toThrow(/modle/)
  // @ts-expect-error: nor can it be picked
  expect(() => resolve(singleton(({ modle }: Pick<App, 'modle'>) => modle))).toThrow(/modle/)
})

it('a dependency of another type does not compile', () => {
  // @ts-expect-error: `model` is a ChatModel
  expect(resolve(singleton(({ model }: { model: Store }) => model))).toBe(model)
})

it('the same holds in the file of an agent or a handler', () => {
  // @ts-expect-error: the app has no `newAgnet`
  const agent: MakeAgent = ({ newAgnet }) => newAgnet({ name: 'a' })
  // @ts-expect-error: a handler has a name
  const handler: MakeHandler = () => ({})
  expect([agent, handler]).toHaveLength(2)
})

it('a part that nobody registers, or that is of another type, does not compile', () => {
  const one: Registrations<'model'> = { model: singleton(() => model) }
  // @ts-expect-error: every other part is missing
  const all: Registrations = { ...one }
  // @ts-expect-error: the app has no part of this name
  const unknown: Registrations<'modle'> = { modle: singleton(() => model) }
  // @ts-expect-error: a store is not a model
  const wrong: Registrations<'store'> = { store: singleton(() => model) }
  // @ts-expect-error: a promise of a model is not a model
  const later: Registrations<'model'> = { model: singleton(async () => model) }
  expect([all, unknown, wrong, later]).toHaveLength(4)
})

it('awilix alone would take all of it', () => {
  expect(() => resolve(asFunction(({ modle }: { modle: ChatModel }) => modle))).toThrow(/modle/)
})
