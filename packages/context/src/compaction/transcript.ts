import { type Message, textOf } from '@troupe/kernel'
import { estimateTokens } from '@troupe/kernel/history'

/** What a message is beside its text, in characters. */
const FRAME = 20

/**
 * Messages as text for a model that summarises them, in pieces of about `maxTokens`.
 * Contract: in order; a message that is longer than a piece loses its middle.
 */
export function transcriptPieces(messages: readonly Message[], maxTokens: number): readonly string[] {
  const pieces: string[] = []
  let piece: string[] = []
  let tokens = 0
  for (const message of messages) {
    const cost = Math.min(estimateTokens(message), maxTokens)
    if (piece.length > 0 && tokens + cost > maxTokens) {
      pieces.push(piece.join('\n\n'))
      piece = []
      tokens = 0
    }
    piece.push(shortened(messageText(message), 4 * maxTokens))
    tokens += cost
  }
  if (piece.length > 0) pieces.push(piece.join('\n\n'))
  return pieces
}

/** A message as text: who says it, its words, its calls and the names of its files. */
export function messageText(message: Message): string {
  const { role, content } = message
  const agent = 'agentName' in message && message.agentName !== undefined ? ` ${message.agentName}` : ''
  const label = role === 'tool' ? `result of ${message.name}` : `${role}${agent}`
  const lines = [`[${label}]`, textOf(content)]
  for (const part of typeof content === 'string' ? [] : content) {
    if (part.type === 'file') lines.push(`(file ${part.name ?? ''} ${part.mediaType} ${part.url?.slice(0, 200) ?? ''})`)
  }
  if (role === 'assistant')
    for (const call of message.toolCalls ?? []) lines.push(`(calls ${call.name} ${call.arguments})`)
  return lines.filter((line) => line !== '').join('\n')
}

/** A text without its middle, if it is long. */
export function shortened(text: string, maxChars: number): string {
  if (text.length <= maxChars + FRAME) return text
  const half = Math.floor(maxChars / 2)
  return `${text.slice(0, half)}\n[…]\n${text.slice(-half)}`
}
