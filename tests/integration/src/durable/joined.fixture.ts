import { EventType } from '@ag-ui/core'
import type { AgUiEvent } from '@troupe/ag-ui'

/** What a stream says, whether it was read live or from a compacted log: neighbouring pieces of a text are one, and states are left out. */
export function joined(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
  const out: AgUiEvent[] = []
  for (const event of events) {
    if (event.type === EventType.STATE_SNAPSHOT || event.type === EventType.STATE_DELTA) continue
    const [piece, last] = [pieceOf(event), out.at(-1)]
    const before = last && pieceOf(last)
    if (piece && before?.key === piece.key) out.splice(-1, 1, withDelta(event, before.delta + piece.delta))
    else out.push(event)
  }
  return out
}

/** Whether a stream begins with what another one says. */
export function beginsWith(events: readonly AgUiEvent[], before: readonly AgUiEvent[]): boolean {
  const [all, begun] = [joined(events), joined(before)]
  const same = begun.every((event, i) => JSON.stringify(event) === JSON.stringify(all[i]))
  if (same) return true
  const at = begun.length - 1
  const [last, whole] = [begun[at], all[at]].map((event) => event && pieceOf(event))
  const isPart = last && last.key === whole?.key && whole.delta.startsWith(last.delta)
  return isPart === true && JSON.stringify(begun.slice(0, at)) === JSON.stringify(all.slice(0, at))
}

function pieceOf(event: AgUiEvent): { readonly key: string; readonly delta: string } | undefined {
  switch (event.type) {
    case EventType.TEXT_MESSAGE_CONTENT:
    case EventType.REASONING_MESSAGE_CONTENT:
      return { key: `${event.type} ${event.messageId}`, delta: event.delta }
    case EventType.TOOL_CALL_ARGS:
      return { key: `${event.type} ${event.toolCallId}`, delta: event.delta }
    case EventType.CUSTOM:
      return event.name === 'tool-delta'
        ? { key: `output ${event.value.toolCallId}`, delta: event.value.delta }
        : undefined
    default:
      return undefined
  }
}

function withDelta(event: AgUiEvent, delta: string): AgUiEvent {
  if (event.type === EventType.CUSTOM) return { ...event, value: { ...event.value, delta } }
  return { ...event, delta } as AgUiEvent
}
