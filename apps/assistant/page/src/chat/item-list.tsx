import type { ReactNode } from 'react'
import type { Conversation } from '../conversation/conversation.ts'
import { argsOf, type Item } from '../conversation/items.ts'
import { Call } from './call.tsx'
import { Message } from './message.tsx'

interface ItemListProps {
  readonly items: readonly Item[]
  readonly conversation: Conversation
}

/** The items of a conversation, in order; the name of an agent is shown only when it changes. */
export function ItemList({ items, conversation }: ItemListProps) {
  return items.map((item, i) => viewOf(item, agentBefore(items, i), conversation))
}

function viewOf(item: Item, before: string | undefined, conversation: Conversation): ReactNode {
  switch (item.kind) {
    case 'user':
      return <Message key={item.id} author="You" isUser text={item.text} done />
    case 'text': {
      const { id, agent, text, thought, done } = item
      return <Message key={id} author={agent} continues={before === agent} text={text} thought={thought} done={done} />
    }
    case 'note':
      return (
        <p key={item.id} className="note" data-tone={item.tone} role={item.tone === 'bad' ? 'alert' : undefined}>
          {item.text}
        </p>
      )
    case 'call':
      if (item.name === 'transfer_to_agent') {
        return (
          <p key={item.id} className="note">
            {item.agent} transfers to <strong>{String(argsOf(item.args).agent_name ?? '…')}</strong>
          </p>
        )
      }
      // A sub-agent returns its result with this call; the call around it shows the result.
      if (item.name === 'complete_task') return null
      return (
        <WithAuthor key={item.id} author={before === item.agent ? undefined : item.agent}>
          <Call call={item} conversation={conversation}>
            {item.inside && <ItemList items={item.inside} conversation={conversation} />}
          </Call>
        </WithAuthor>
      )
  }
}

/** Shows the name of an agent above a call, if the agent has not been named yet. */
function WithAuthor({ author, children }: { readonly author: string | undefined; readonly children: ReactNode }) {
  if (author === undefined) return children
  return (
    <div className="message">
      <h3 className="author">{author}</h3>
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
