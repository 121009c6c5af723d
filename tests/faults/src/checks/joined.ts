import type { AgUiEvent } from '@troupe/ag-ui'

/** What a stream says, whether it was read live or from a compacted log: neighbouring pieces of a text are one, and states are left out. */
export function joined(events: readonly AgUiEvent[]): readonly string[] {
  const out: { key: string; text?: string }[] = []
  for (const event of events) {
    if (event.type === 'STATE_SNAPSHOT' || event.type === 'STATE_DELTA') continue
    const [piece, last] = [pieceOf(event), out.at(-1)]
    if (piece && last?.text !== undefined && last.key === piece.key) last.text += piece.text
    else out.push(piece ?? { key: event.type })
  }
  return out.map(({ key, text = '' }) => `${key} ${text}`)
}

function pieceOf(event: AgUiEvent): { readonly key: string; text: string } | undefined {
  switch (event.type) {
    case 'TEXT_MESSAGE_CONTENT':
    case 'REASONING_MESSAGE_CONTENT':
      return { key: `${event.type} ${event.messageId}`, text: event.delta }
    case 'TOOL_CALL_ARGS':
      return { key: `${event.type} ${event.toolCallId}`, text: event.delta }
    case 'CUSTOM':
      return event.name === 'tool-delta'
        ? { key: `output ${event.value.toolCallId}`, text: event.value.delta }
        : undefined
    default:
      return undefined
  }
}
