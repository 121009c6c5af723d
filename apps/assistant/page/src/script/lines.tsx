import type { ReactNode } from 'react'
import type { Conversation } from '../talk/conversation.ts'
import { argsOf, type Item } from '../talk/items.ts'
import { Call } from './call.tsx'
import { Speech } from './speech.tsx'

interface LinesProps {
  readonly items: readonly Item[]
  readonly conversation: Conversation
}

/** The lines of a script, in order; whoever goes on speaking is not named again. */
export function Lines({ items, conversation }: LinesProps) {
  return items.map((item, i) => line(item, speakerBefore(items, i), conversation))
}

function line(item: Item, before: string | undefined, conversation: Conversation): ReactNode {
  switch (item.kind) {
    case 'user':
      return <Speech key={item.id} speaker="You" isUser text={item.text} done />
    case 'speech': {
      const { id, agent, text, thought, done } = item
      return <Speech key={id} speaker={agent} goesOn={before === agent} text={text} thought={thought} done={done} />
    }
    case 'note':
      return (
        <p key={item.id} className="direction" data-tone={item.tone} role={item.tone === 'bad' ? 'alert' : undefined}>
          {item.text}
        </p>
      )
    case 'call':
      if (item.name === 'transfer_to_agent') {
        return (
          <p key={item.id} className="direction">
            {item.agent} hands over to <strong>{String(argsOf(item.args).agent_name ?? '…')}</strong>
          </p>
        )
      }
      // How a sub-agent hands in its result: the call around it shows that.
      if (item.name === 'complete_task') return null
      return (
        <Cue key={item.id} speaker={before === item.agent ? undefined : item.agent}>
          <Call call={item} conversation={conversation}>
            {item.inside && <Lines items={item.inside} conversation={conversation} />}
          </Call>
        </Cue>
      )
  }
}

/** Names whoever acts before they have said a word. */
function Cue({ speaker, children }: { readonly speaker: string | undefined; readonly children: ReactNode }) {
  if (speaker === undefined) return children
  return (
    <div className="line">
      <h3 className="speaker">{speaker}</h3>
      {children}
    </div>
  )
}

function speakerBefore(items: readonly Item[], i: number): string | undefined {
  for (let j = i - 1; j >= 0; j--) {
    const item = items[j] as Item
    if (item.kind === 'user' || (item.kind === 'call' && item.name === 'transfer_to_agent')) return undefined
    if (item.kind === 'speech' || item.kind === 'call') return item.agent
  }
  return undefined
}
