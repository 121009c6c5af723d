import type { AnswerSpec } from './answer-model.ts'

/** The body of a request that asks for an answer. */
export function runInput(threadId: string, runId: string, answer: AnswerSpec): string {
  return JSON.stringify({
    threadId,
    runId,
    protocolVersion: '1.0',
    messages: [{ id: `u-${runId}`, role: 'user', content: JSON.stringify(answer) }],
    tools: [],
    context: [],
  })
}
