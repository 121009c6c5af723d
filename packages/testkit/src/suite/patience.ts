import type { AgentAction, RunContext } from '@troupe/kernel'
import { notJson, systemClock, withinTime } from '@troupe/kernel/kit'
import { createRunContext, type RunSettings } from '@troupe/kernel/run'
import { demand, Fault, shown } from '../fault.ts'

/** The time that a suite waits for what should happen at once; shorter than the grace that the kernel gives an aborted agent. */
export const PATIENCE_MS = 750

/** Waits for work that should settle at once; what it rejects with is a value here. Contract: `wrong` says what is the matter if it does not. */
export async function promptly<T>(
  wrong: string,
  work: PromiseLike<T>,
  todo?: string,
): Promise<{ value: T } | { error: unknown }> {
  const settled = Promise.resolve(work).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  return await withinTime(systemClock, PATIENCE_MS, settled, () => {
    throw new Fault(`${wrong} within ${PATIENCE_MS} ms`, todo)
  })
}

/** A context as a tool or a handler gets it: inside a call, in a run that can ask a person. */
export function callContext(
  settings: RunSettings = {},
  onAction: (action: AgentAction) => void = () => {},
): RunContext {
  const call = { callId: 'call', onAction, onInterrupt() {} }
  return createRunContext({ runId: 'test', canInterrupt: true, ...settings }).derive({ step: 'tool:0:0', call })
}

/** Contract: what crosses a border is plain JSON. */
export function demandJson(value: unknown, what: string): void {
  const path = notJson(value)
  demand(
    path === undefined,
    `${what} is not plain JSON${path ? ` at ${path}` : ''}: ${shown(value)}`,
    'Give text, numbers, booleans, null, lists and plain objects only: no Date, Map, class, function or undefined. A Date becomes text with toISOString().',
  )
}

/** Contract: a name is text that people can read. */
export function demandName(name: unknown, who: string): void {
  demand(
    typeof name === 'string' && /\S/.test(name),
    `The ${who} has no name: got ${shown(name)}`,
    `Give the ${who} a name: it is in errors and logs.`,
  )
}

/** Whether a value can be read with `for await`, as streams are. */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Freezes all through, so that a change in place throws. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}
