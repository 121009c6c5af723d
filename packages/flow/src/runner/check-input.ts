import { KernelError, type RunInput } from '@troupe/kernel'
import { got, isForbiddenKey, notJson } from '@troupe/kernel/kit'

/** Checks the input of a run. Contract: throws `VALIDATION_FAILED` for input that a store would refuse, before any agent runs. */
export function checkInput(input: RunInput): void {
  const { messages, processed = [] } = input
  for (const message of messages) refuseNonJson(`message ${message?.id}`, message)
  if (!Array.isArray(processed) || !processed.every(isId)) throw wrong('processed must be a list of ids', processed)
  checkStandaloneInput(input)
}

/** Checks the input of a run that is not stored; it does not look into the messages, which may be a long history. */
export function checkStandaloneInput({ messages, state }: RunInput): void {
  for (const message of messages) if (!isId(message?.id)) throw wrong('every message must have an id', message)
  const { set = {}, removed = [] } = state ?? {}
  if (!Array.isArray(removed) || !removed.every(isId)) throw wrong('state.removed must be a list of keys', removed)
  for (const key of Object.keys(set)) {
    if (key === '' || isForbiddenKey(key))
      throw wrong('a state key must be a non-empty string and not a built-in such as __proto__', key)
  }
  refuseNonJson('state.set', set)
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function refuseNonJson(what: string, value: unknown): void {
  const broken = notJson(value)
  if (broken !== undefined) throw wrong(`${what} must be plain JSON, which it is not at ${broken || 'its root'}`, value)
}

function wrong(expected: string, value: unknown): KernelError {
  return new KernelError('VALIDATION_FAILED', `run: ${expected}, ${got(value)}`)
}
