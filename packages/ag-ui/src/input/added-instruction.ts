import type { RunAgentInput } from '@ag-ui/core'

/** The client's addition to the instruction of the root agent: its leading system message, then its context as `description: value` lines. */
export function addedInstruction({ messages, context }: Pick<RunAgentInput, 'messages' | 'context'>): string {
  const [first] = messages
  const system = first?.role === 'system' || first?.role === 'developer' ? first.content.trim() : ''
  const lines = context.map(({ description, value }) => `${description}: ${value}`).join('\n')
  return [system, lines].filter((text) => text !== '').join('\n\n')
}
