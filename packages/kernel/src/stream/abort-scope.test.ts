import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { abortScope } from './abort-scope.ts'

it('aborts with its parent, for the same reason', () => {
  const parent = new AbortController()
  using scope = abortScope(parent.signal)
  parent.abort('enough')
  expect(scope.signal).toMatchObject({ aborted: true, reason: 'enough' })
})

it('is aborted from the start under a parent that is', () => {
  using scope = abortScope(AbortSignal.abort('enough'))
  expect(scope.signal).toMatchObject({ aborted: true, reason: 'enough' })
})

it('aborts alone', () => {
  const parent = new AbortController()
  using scope = abortScope(parent.signal)
  scope.abort('limit')
  expect(scope.signal.reason).toBe('limit')
  expect(parent.signal.aborted).toBe(false)
})

it('leaves no listener behind after 1,000 scopes', () => {
  const { signal } = new AbortController()
  for (let i = 0; i < 1_000; i++) {
    using scope = abortScope(signal)
    expect(scope.signal.aborted).toBe(false)
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

it.each([undefined, null, 0, 'why', new Error('why')])('passes the reason %s down', (reason) => {
  const parent = new AbortController()
  const before = abortScope(parent.signal)
  const { signal } = before
  parent.abort(reason)
  const after = abortScope(parent.signal)
  for (const child of [signal, after.signal]) {
    expect(child.aborted).toBe(true)
    expect(child.reason).toBe(parent.signal.reason)
  }
  before[Symbol.dispose]()
  after[Symbol.dispose]()
  expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0)
})

it('keeps its first reason, and its parent goes on without it', () => {
  const parent = new AbortController()
  const [scope, disposed] = [abortScope(parent.signal), abortScope(parent.signal)]
  const signals = [scope.signal, disposed.signal, parent.signal]
  scope.abort('mine')
  scope.abort('again')
  disposed[Symbol.dispose]()
  disposed[Symbol.dispose]()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, false])
  parent.abort('theirs')
  expect(signals.map(({ reason }) => reason)).toEqual(['mine', undefined, 'theirs'])
})

it('leaves no listener behind when a thousand are nested and side by side', () => {
  const parent = new AbortController()
  for (let i = 0; i < 1_000; i++) {
    using outer = abortScope(parent.signal)
    using inner = abortScope(outer.signal)
    expect(inner.signal.aborted).toBe(false)
    if (i % 3 === 0) outer.abort('mine')
    expect(inner.signal.aborted).toBe(i % 3 === 0)
  }
  expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0)
})
