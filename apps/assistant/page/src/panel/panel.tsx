import { AgentTree, type Thread, Timeline } from '@troupe/react'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import type { About } from '../conversation/server.ts'
import { useTokens } from '../conversation/use-tokens.ts'
import { Icon } from '../frame/icons.tsx'
import { Grants } from './grants.tsx'
import { PackingList } from './packing-list.tsx'
import { RawEvents } from './raw-events.tsx'

interface PanelProps {
  readonly thread: Thread
  readonly about: About | undefined
  /** Whether something covers it. */
  readonly isInert: boolean
  readonly onClose: () => void
}

const TABS = ['List', 'Timeline', 'Agents', 'Events', 'Allowed'] as const
type Tab = (typeof TABS)[number]

/** The panel beside the chat: the shared list, what the agents did, and what they may do without a question. */
export function Panel({ thread, about, isInert, onClose }: PanelProps) {
  const tokens = useTokens(thread)
  const [tab, choose] = useState<Tab>('List')
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length] as Tab
    choose(next)
    document.getElementById(`tab-${next}`)?.focus()
  }
  const views: Record<Tab, () => ReactNode> = {
    List: () => <PackingList thread={thread} />,
    Timeline: () => <Timeline thread={thread} tokens={tokens} traceUrl={about?.traceUrl} />,
    Agents: () => about && <AgentTree agent={about.tree} tools={about.tools} thread={thread} />,
    Events: () => <RawEvents events={thread.events} />,
    Allowed: () => <Grants thread={thread} />,
  }
  return (
    <aside className="panel" aria-label="Inspector" inert={isInert}>
      <header className="panel-head">
        <div className="tabs" role="tablist" aria-label="Inspector" onKeyDown={onKeyDown}>
          {TABS.map((name) => (
            <button
              key={name}
              id={`tab-${name}`}
              type="button"
              role="tab"
              aria-selected={name === tab}
              aria-controls="panel-view"
              tabIndex={name === tab ? 0 : -1}
              onClick={() => choose(name)}
            >
              {name}
            </button>
          ))}
        </div>
        <button type="button" className="quiet narrow-only" aria-label="Close the panel" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it must scroll with the keyboard too */}
      <div className="panel-view" id="panel-view" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {views[tab]()}
      </div>
    </aside>
  )
}
