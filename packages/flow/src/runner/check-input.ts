import { got, KernelError, notJson, type RunInput } from '@troupe/kernel'

const INTERNALS = ['__proto__', 'constructor', 'prototype']

/** Contract: throws `VALIDATION_FAILED` for what no store would take, before an agent has done anything. */
export function checkInput(input: RunInput): void {
  const { messages, processed = [] } = input
  for (const message of messages) refuseNonJson(`message ${message?.id}`, message)
  if (!Array.isArray(processed) || !processed.every(isId)) throw wrong('processed is a list of ids', processed)
  checkFreeInput(input)
}

/** The same for a run that is not stored; its messages may be a long history, so that they are not looked into. */
export function checkFreeInput({ messages, state }: RunInput): void {
  for (const message of messages) if (!isId(message?.id)) throw wrong('every message has an id', message)
  const { set = {}, removed = [] } = state ?? {}
  if (!Array.isArray(removed) || !removed.every(isId)) throw wrong('state.removed is a list of keys', removed)
  for (const key of Object.keys(set)) {
    if (key === '' || INTERNALS.includes(key))
      throw wrong('a state key is a non-empty string and no object internal', key)
  }
  refuseNonJson('state.set', set)
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function refuseNonJson(what: string, value: unknown): void {
  const broken = notJson(value)
  if (broken !== undefined) throw wrong(`${what} is plain JSON, but not at ${broken || 'its root'}`, value)
}

function wrong(expected: string, value: unknown): KernelError {
  return new KernelError('VALIDATION_FAILED', `run: ${expected}, ${got(value)}`)
}
