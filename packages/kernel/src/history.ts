import type { AgentEvent, EventOf } from './data/event.ts'
import type { Message, ToolCall, ToolMessage } from './data/message.ts'

export { estimateTokens } from './estimate-tokens.ts'

/**
 * The calls of the last assistant message that have no result yet; none once a user message has followed.
 * @example openCalls(messages).map(({ id }) => id)
 */
export function openCalls(messages: readonly Message[]): readonly ToolCall[] {
  if (!endsOpen(messages)) return NONE
  const answered = new Set<string>()
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i] as Message
    if (message.role === 'tool') answered.add(message.callId)
    else if (message.role === 'assistant') return (message.toolCalls ?? []).filter(({ id }) => !answered.has(id))
    else break
  }
  return []
}

const NONE: readonly ToolCall[] = []

/** Whether there can be calls without a result: most histories end with a user message or an answer. */
function endsOpen(messages: readonly Message[]): boolean {
  const last = messages.at(-1)
  return last?.role === 'tool' || last?.role === 'assistant'
}

/**
 * The calls without a result since the last user message; of several agents, if they ran in parallel.
 * @example unanswered(messages).map(({ id }) => id)
 */
export function unanswered(messages: readonly Message[]): readonly ToolCall[] {
  if (!endsOpen(messages)) return NONE
  const answered = new Set<string>()
  const later = new Set<string | undefined>()
  const calls: ToolCall[] = []
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i] as Message
    if (message.role === 'tool') answered.add(message.callId)
    else if (message.role !== 'assistant') break
    // An agent that has written a later message no longer waits.
    else if (message.agentName === undefined ? later.size === 0 : !later.has(message.agentName)) {
      calls.unshift(...(message.toolCalls ?? []).filter(({ id }) => !answered.has(id)))
      later.add(message.agentName)
    }
  }
  return calls
}

/**
 * The history entry of a `tool-end` event.
 * @example if (event.type === 'tool-end') messages.push(toolMessage(event))
 */
export function toolMessage({
  messageId,
  callId,
  name,
  agentName,
  content,
  display,
  data,
  error,
  kept,
}: EventOf<'tool-end'>): ToolMessage {
  const message: ToolMessage = { id: messageId, role: 'tool', callId, name, agentName, content }
  if (display === undefined && data === undefined && !error && !kept) return message
  return {
    ...message,
    ...(display !== undefined && { display }),
    ...(data !== undefined && { data }),
    ...(error && { error }),
    ...(kept && { kept }),
  }
}

/**
 * The history entry of an event, if it has one, with the agent that wrote it.
 * @example const message = messageOf(event); if (message) messages.push(message)
 */
export function messageOf(event: AgentEvent): Message | undefined {
  if (event.type === 'tool-end') return event.status === 'dropped' ? undefined : toolMessage(event)
  if (event.type !== 'message-end' || event.dropped) return undefined
  return event.message.agentName === undefined ? { ...event.message, agentName: event.agentName } : event.message
}

/** The content of a result that is not known. */
export const UNKNOWN_RESULT = 'The outcome of this call is not known.'

/**
 * A result for a call whose outcome is not known.
 * @example openCalls(messages).map((call) => unknownResult(call))
 */
export function unknownResult({ id, name }: Pick<ToolCall, 'id' | 'name'>, agentName?: string): ToolMessage {
  const result: ToolMessage = { id: `${id}#unknown`, role: 'tool', callId: id, name, content: UNKNOWN_RESULT }
  return agentName === undefined ? result : { ...result, agentName }
}

/** Options of `repairHistory`. */
export interface RepairOptions {
  /** Ids of calls that await an answer from outside; they stay open. */
  readonly awaiting?: Iterable<string>
}

/**
 * Gives every call exactly one result, right after its message, and drops results without a call.
 * Contract: returns the same array if nothing was wrong; a missing result is `UNKNOWN_RESULT`, neutral to success and failure.
 * @example const safe = repairHistory(messages, { awaiting: thread.openCalls.map(({ callId }) => callId) })
 */
export function repairHistory(messages: readonly Message[], options: RepairOptions = {}): readonly Message[] {
  if (isPaired(messages)) return messages
  const results = firstResults(messages)
  const awaiting = new Set(options.awaiting)
  const resultOf = (call: ToolCall) => results.get(call.id) ?? (awaiting.has(call.id) ? undefined : unknownResult(call))
  const repaired: Message[] = []
  const seen = new Set<string>()
  for (const message of messages) {
    if (message.role === 'tool') continue
    repaired.push(message)
    for (const call of callsOf(message)) {
      const result = seen.has(call.id) ? undefined : resultOf(call)
      if (result) repaired.push(result)
      seen.add(call.id)
    }
  }
  return same(repaired, messages) ? messages : repaired
}

/**
 * Puts results that follow each other into the order of their calls, which are in the same list or in the history before it.
 * @example const ordered = inCallOrder(messages)
 */
export function inCallOrder(messages: readonly Message[], before: readonly Message[] = []): readonly Message[] {
  if (messages.length < 2) return messages
  const isResult = (i: number) => messages[i]?.role === 'tool'
  if (!messages.some((_, i) => isResult(i) && isResult(i + 1))) return messages
  const ids = [...before, ...messages].flatMap(callsOf).map(({ id }) => id)
  const placeOf = (message?: Message) => (message?.role === 'tool' ? ids.lastIndexOf(message.callId) : -1)
  const ordered: Message[] = []
  for (const message of messages) {
    let at = ordered.length
    if (message.role === 'tool') while (placeOf(ordered[at - 1]) > placeOf(message)) at--
    ordered.splice(at, 0, message)
  }
  return ordered
}

function firstResults(messages: readonly Message[]): ReadonlyMap<string, ToolMessage> {
  const results = new Map<string, ToolMessage>()
  for (const message of messages) {
    if (message.role === 'tool' && !results.has(message.callId)) results.set(message.callId, message)
  }
  return results
}

function callsOf(message: Message): readonly ToolCall[] {
  return (message.role === 'assistant' && message.toolCalls) || []
}

/** Whether every call is followed by its result; cheap on a long history that is sound. */
function isPaired(messages: readonly Message[]): boolean {
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i] as Message
    if (message.role === 'tool') return false
    if (message.role !== 'assistant' || !message.toolCalls) continue
    for (const { id } of message.toolCalls) {
      const result = messages[++i]
      if (result?.role !== 'tool' || result.callId !== id) return false
    }
  }
  return true
}

function same(a: readonly Message[], b: readonly Message[]): boolean {
  return a.length === b.length && a.every((message, i) => message === b[i])
}
