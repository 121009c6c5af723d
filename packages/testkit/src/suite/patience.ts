import { getEventListeners } from 'node:events'
import type { RunContext, RunSettings } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { expect } from 'vitest'

/** How long a suite waits for what should happen at once; shorter than the grace that the kernel gives an aborted agent. */
export const PATIENCE_MS = 750

/** Waits for work that should settle at once; what it rejects with is a value here. */
export async function promptly<T>(what: string, work: PromiseLike<T>): Promise<{ value: T } | { error: unknown }> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: did not settle within ${PATIENCE_MS} ms`)), PATIENCE_MS)
  })
  const settled = Promise.resolve(work).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  try {
    return await Promise.race([settled, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Contract: whoever listens to a signal stops listening when done. */
export function expectNoListeners(signal: AbortSignal): void {
  expect(getEventListeners(signal, 'abort'), 'abort listeners left behind').toHaveLength(0)
}

/** The same for a stream that was left: its producer hears of it with its next write. */
export async function expectListenersGone(signal: AbortSignal): Promise<void> {
  for (const start = performance.now(); performance.now() - start < PATIENCE_MS; ) {
    if (getEventListeners(signal, 'abort').length === 0) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  expectNoListeners(signal)
}

/** A context as a tool or a handler meets it: inside a call, in a run where somebody can answer. */
export function callContext(settings: RunSettings = {}): RunContext {
  const call = { callId: 'call', onAction() {}, onInterrupt() {} }
  return createRunContext({ runId: 'test', canInterrupt: true, ...settings }).derive({ step: 'tool:0:0', call })
}

/** Contract: what crosses a border is plain JSON. */
export function expectJson(value: unknown): void {
  expect(JSON.parse(JSON.stringify(value)), 'plain JSON').toStrictEqual(value)
}

/** Freezes all through, so that a change in place throws. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}
