import type { AgentAction } from './action.ts'
import { notJson } from './json.ts'
import { got, isObject, KernelError } from './kernel-error.ts'

const ACTIONS: ReadonlySet<AgentAction['type']> = new Set([
  'transfer-to-agent',
  'exit',
  'interrupt',
  'break-loop',
  'custom',
])

/** Contract: throws `EVENT_INVALID` for a value that is not an action. */
export function checkAction(action: AgentAction): void {
  if (!isObject(action) || !ACTIONS.has(action.type)) {
    const types = [...ACTIONS].join(', ')
    throw new KernelError(
      'EVENT_INVALID',
      `action: the type must be one of ${types}, ${got(isObject(action) ? action.type : action)}`,
    )
  }
  checkMembers(action)
}

/** Contract: throws `EVENT_INVALID` for a transfer without a target, and for data that is not JSON. */
function checkMembers(action: AgentAction): void {
  if (action.type === 'transfer-to-agent' && typeof action.agentName !== 'string') {
    throw new KernelError(
      'EVENT_INVALID',
      `action: a transfer needs the agentName of its target, ${got(action.agentName)}`,
    )
  }
  const value = action.type === 'exit' ? action.result : action.type === 'custom' ? action.data : undefined
  const broken = value === undefined ? undefined : notJson(value)
  if (broken === undefined) return
  const where = broken === '' ? 'it' : broken
  throw new KernelError(
    'EVENT_INVALID',
    `action: what ${action.type} carries must be JSON, but ${where} is not, ${got(value)}`,
  )
}
