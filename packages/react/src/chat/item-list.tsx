import { memo, type ReactNode, useContext } from 'react'
import { argsOf } from '../thread/args-of.ts'
import type { CallItem, Item } from '../thread/item.ts'
import { QuestionsContext, useConversation } from './conversation-context.ts'

/** Items in order; the name of an agent is shown only when it changes. */
export function ItemList({ items }: { readonly items: readonly Item[] }): ReactNode {
  return items.map((item, i) => <ItemView key={item.id} item={item} before={agentBefore(items, i)} />)
}

interface ItemViewProps {
  readonly item: Item
  /** The agent of the item before. */
  readonly before: string | undefined
}

/** An item. Contract: rendered again only if it has changed, so that a long conversation costs no more than a short one. */
const ItemView = memo(function ItemView({ item, before }: ItemViewProps): ReactNode {
  const { UserMessage, AgentMessage, Note } = useConversation().components
  switch (item.kind) {
    case 'user':
      return <UserMessage item={item} />
    case 'text':
      return <AgentMessage item={item} continues={before === item.agent} />
    case 'note':
      return <Note item={item} />
    case 'call':
      return <CallView item={item} before={before} />
  }
})

function CallView({ item, before }: { readonly item: CallItem; readonly before: string | undefined }): ReactNode {
  const { labels, components } = useConversation()
  const { Call, Question } = components
  const question = useContext(QuestionsContext).get(item.id)
  if (item.name === 'transfer_to_agent') {
    const target = <strong key="target">{String(argsOf(item).agent_name ?? '…')}</strong>
    return <p className="troupe-note">{labels.transfersTo(item.agent, target)}</p>
  }
  // A sub-agent returns its result with this call; the call around it shows the result.
  if (item.name === 'complete_task') return null
  return (
    <WithAuthor author={before === item.agent ? undefined : item.agent}>
      {question ? (
        <Question key={question.id} question={question} item={item} />
      ) : (
        <Call item={item}>{item.inside && <ItemList items={item.inside} />}</Call>
      )}
    </WithAuthor>
  )
}

/** Shows the name of an agent above a call, if the agent has not been named yet. */
function WithAuthor({ author, children }: { readonly author: string | undefined; readonly children: ReactNode }) {
  if (author === undefined) return children
  return (
    <div className="troupe-message">
      <h3 className="troupe-author">{author}</h3>
      {children}
    </div>
  )
}

function agentBefore(items: readonly Item[], i: number): string | undefined {
  for (let j = i - 1; j >= 0; j--) {
    const item = items[j] as Item
    if (item.kind === 'user' || (item.kind === 'call' && item.name === 'transfer_to_agent')) return undefined
    if (item.kind === 'text' || item.kind === 'call') return item.agent
  }
  return undefined
}
