import type { RunAgentInput } from '@ag-ui/core'

/** What becomes of a leading system or developer message of a client: it is ignored, or added to the instruction. */
export type SystemMessageMode = 'ignore' | 'instruction'

/** The client's addition to the instruction of the root agent: its leading system message, if the app says so, then its context as `description: value` lines. */
export function addedInstruction(
  { messages, context }: Pick<RunAgentInput, 'messages' | 'context'>,
  systemMessages: SystemMessageMode,
): string {
  const [first] = messages
  const leads = systemMessages === 'instruction' && (first?.role === 'system' || first?.role === 'developer')
  const system = leads ? first.content.trim() : ''
  const lines = context.map(({ description, value }) => `${description}: ${value}`).join('\n')
  return [system, lines].filter((text) => text !== '').join('\n\n')
}
