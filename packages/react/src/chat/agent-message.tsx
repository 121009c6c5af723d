import type { ReactNode } from 'react'
import type { AgentMessageProps } from './components.ts'
import { useConversation } from './conversation-context.ts'

/** A message of an agent, with what its model thought before. */
export function AgentMessage({ item, continues }: AgentMessageProps): ReactNode {
  const { labels, components } = useConversation()
  const { Text, Files } = components
  const { agent, text, thought, files, done } = item
  if (text === '' && thought === '' && files.length === 0 && done) return null
  return (
    <article className="troupe-message" data-continues={continues || undefined} data-done={done || undefined}>
      <h3 className={continues ? 'troupe-hidden' : 'troupe-author'}>{agent}</h3>
      <div className="troupe-text">
        {thought !== '' && (
          <details className="troupe-thought">
            <summary>{labels.thinking}</summary>
            <p>{thought}</p>
          </details>
        )}
        <Text text={text} />
        <Files files={files} />
      </div>
    </article>
  )
}
