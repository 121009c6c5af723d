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
