import type { Message } from './data/message.ts'

const CHARS_PER_TOKEN = 4
const TOKENS_PER_FILE = 1_600
const TOKENS_PER_MESSAGE = 4

/**
 * Estimates the tokens of a message: a quarter of its characters, 1,600 for each file, 4 for the message itself.
 * Contract: near enough for English and code; Chinese, Japanese and Korean cost two to four times as much, and long documents more than a file.
 * @example estimateTokens({ id: '1', role: 'user', content: 'Hello!' }) // 6
 */
export function estimateTokens(message: Message): number {
  const { content } = message
  const calls = (message.role === 'assistant' && message.toolCalls) || []
  let tokens = TOKENS_PER_MESSAGE
  let chars = typeof content === 'string' ? content.length : 0
  for (const part of typeof content === 'string' ? [] : content) {
    if (part.type === 'file') tokens += TOKENS_PER_FILE
    else chars += part.text.length
    if (part.type === 'reasoning') chars += part.encrypted?.length ?? 0
  }
  for (const call of calls) chars += call.name.length + call.arguments.length
  return tokens + Math.ceil(chars / CHARS_PER_TOKEN)
}
