import type { ReactNode } from 'react'
import { Approval } from './approval.tsx'
import type { QuestionProps } from './components.ts'
import { QuestionForm } from './question-form.tsx'

/** A question: an approval, or a form for what its schema describes. */
export function Question(props: QuestionProps): ReactNode {
  const { reason } = props.question
  return reason === 'tool_call' || reason === 'confirmation' ? <Approval {...props} /> : <QuestionForm {...props} />
}
