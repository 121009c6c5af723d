import { useEffect, useState } from 'react'
import { Panel } from '../panel/panel.tsx'
import { Composer } from '../script/composer.tsx'
import { Opening } from '../script/opening.tsx'
import { Script } from '../script/script.tsx'
import { Suggestions } from '../script/suggestions.tsx'
import { useConversation } from '../talk/use-conversation.ts'
import { ThreadList } from './thread-list.tsx'
import { TopBar } from './top-bar.tsx'
import { useAbout, useThreads } from './use-server.ts'
import { useThreadId } from './use-thread-id.ts'

/** What lies over the chat on a narrow screen. */
export type Drawer = 'threads' | 'panel' | undefined

/** The whole page: conversations, the chat, and the panel beside it. */
export function App() {
  const [threadId, openThread] = useThreadId()
  const conversation = useConversation(threadId)
  const about = useAbout()
  const status = conversation?.status ?? 'loading'
  const [threads, refresh] = useThreads(`${threadId} ${status}`)
  const [drawer, setDrawer] = useState<Drawer>()
  const [isPanelShown, showPanel] = useState(true)

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return
      if (drawer) setDrawer(undefined)
      else void conversation?.stop()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [conversation, drawer])

  const choose = (id?: string) => {
    openThread(id)
    setDrawer(undefined)
  }
  const say = (text: string) => void conversation?.say(text)
  const canSay = status === 'idle' && conversation?.questions.length === 0
  return (
    <div className="app" data-drawer={drawer} data-panel={isPanelShown}>
      <button type="button" className="skip" onClick={focusComposer}>
        Skip to the message box
      </button>
      <TopBar about={about} onDrawer={setDrawer} onNew={() => choose()} onPanel={() => showPanel(!isPanelShown)} />
      <ThreadList
        threads={threads}
        current={threadId}
        title={conversation?.transcript.title}
        onChoose={choose}
        onDeleted={refresh}
      />
      <main className="stage">
        {conversation && !conversation.isEmpty && <Script conversation={conversation} />}
        {conversation?.isEmpty && status !== 'loading' && <Opening about={about} onSay={say} />}
        <footer className="footlights">
          {conversation && !conversation.isEmpty && canSay && <Suggestions onSay={say} />}
          <Composer
            key={threadId}
            status={status}
            mustAnswer={(conversation?.questions.length ?? 0) > 0}
            onSay={say}
            onStop={() => void conversation?.stop()}
          />
        </footer>
      </main>
      {conversation && <Panel conversation={conversation} about={about} onClose={() => setDrawer(undefined)} />}
      <button type="button" className="backdrop" aria-label="Close" onClick={() => setDrawer(undefined)} />
    </div>
  )
}

function focusComposer(): void {
  document.getElementById('composer')?.focus()
}
