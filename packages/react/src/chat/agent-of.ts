import type { QuestionProps } from './components.ts'

/** The agent that asks. */
export function agentOf({ question, item }: QuestionProps): string {
  const { agentName } = (question.metadata ?? {}) as { readonly agentName?: unknown }
  return item?.agent ?? (typeof agentName === 'string' ? agentName : 'Agent')
}

/** Whether it is too late to answer. */
export function isExpired({ expiresAt }: QuestionProps['question']): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= Date.now()
}
