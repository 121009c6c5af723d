import type { Message } from '@troupe/kernel'

/** Lists the faults of a history given to a model: a call without exactly one result directly after its message, or a result without a call. */
export function unpaired(messages: readonly Message[]): string[] {
  const wrong: string[] = []
  const ids = new Set<string>()
  let due: string[] = []
  for (const message of messages) {
    if (ids.has(message.id)) wrong.push(`message ${message.id} twice`)
    ids.add(message.id)
    if (message.role === 'tool') {
      if (due[0] === message.callId) due.shift()
      else wrong.push(`result of ${message.callId} where ${due[0] ?? 'none'} was due`)
      continue
    }
    if (due.length > 0) wrong.push(`${due.join()} without a result`)
    due = message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : []
  }
  if (due.length > 0) wrong.push(`${due.join()} without a result`)
  return wrong
}

/** Lists the faults of a stored history: calls without exactly one result, except those that are awaited. */
export function unanswered(messages: readonly Message[], awaiting: readonly (string | undefined)[] = []): string[] {
  const results = new Map<string, number>()
  const wrong: string[] = []
  const addCall = (id: string) => {
    if (results.has(id)) wrong.push(`call ${id} twice`)
    results.set(id, 0)
  }
  const addResult = (callId: string) => {
    const count = results.get(callId)
    if (count === undefined) wrong.push(`result of ${callId} before its call`)
    results.set(callId, (count ?? 0) + 1)
  }
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) addCall(id)
    if (message.role === 'tool') addResult(message.callId)
  }
  for (const [id, count] of results) {
    const expected = awaiting.includes(id) ? 0 : 1
    if (count !== expected) wrong.push(`call ${id} has ${count} results, not ${expected}`)
  }
  return wrong
}
