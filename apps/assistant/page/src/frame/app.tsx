import { useEffect, useState } from 'react'
import { ChatLog } from '../chat/chat-log.tsx'
import { Composer, focusComposer } from '../chat/composer.tsx'
import { Suggestions } from '../chat/suggestions.tsx'
import { Welcome } from '../chat/welcome.tsx'
import { useConversation } from '../conversation/use-conversation.ts'
import { Panel } from '../panel/panel.tsx'
import { ThreadList } from './thread-list.tsx'
import { TopBar } from './top-bar.tsx'
import { useAbout } from './use-about.ts'
import { useDrawer } from './use-drawer.ts'
import { useThreadId } from './use-thread-id.ts'
import { useThreads } from './use-threads.ts'

/** The whole page: conversations, the chat, and the panel beside it. */
export function App() {
  const [threadId, openThread] = useThreadId()
  const conversation = useConversation(threadId)
  const about = useAbout()
  const status = conversation?.status ?? 'loading'
  const threads = useThreads(`${threadId} ${status}`)
  const [drawer, setDrawer] = useDrawer()
  const [isPanelShown, showPanel] = useState(true)

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.isComposing) return
      if (drawer) setDrawer(undefined)
      else void conversation?.stop()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [conversation, drawer, setDrawer])

  const title = conversation?.transcript.title
  useEffect(() => {
    document.title = title ? `${title} · Troupe` : 'Troupe'
  }, [title])

  const choose = (id?: string) => {
    openThread(id)
    setDrawer(undefined)
  }
  const send = (text: string) => {
    void conversation?.send(text)
    focusComposer()
  }
  const canSend = status === 'idle' && conversation?.questions.length === 0
  return (
    <div className="app" data-drawer={drawer} data-panel={isPanelShown}>
      <button
        type="button"
        className="skip"
        inert={drawer !== undefined}
        onClick={() => document.getElementById('composer')?.focus()}
      >
        Skip to the message box
      </button>
      <TopBar
        about={about}
        isInert={drawer !== undefined}
        isPanelShown={isPanelShown}
        onDrawer={setDrawer}
        onNew={() => choose()}
        onPanel={() => showPanel(!isPanelShown)}
      />
      <ThreadList isInert={drawer === 'panel'} threads={threads} current={threadId} title={title} onChoose={choose} />
      <main className="chat" inert={drawer !== undefined}>
        {conversation && !conversation.isEmpty && <ChatLog conversation={conversation} />}
        {conversation?.isEmpty && status !== 'loading' && <Welcome about={about} onSend={send} />}
        <footer className="chat-footer">
          {conversation && !conversation.isEmpty && canSend && <Suggestions onSend={send} />}
          <Composer
            key={threadId}
            status={status}
            mustAnswer={(conversation?.questions.length ?? 0) > 0}
            onSend={send}
            onStop={() => void conversation?.stop()}
          />
        </footer>
      </main>
      {conversation && (
        <Panel
          conversation={conversation}
          about={about}
          isInert={drawer === 'threads'}
          onClose={() => setDrawer(undefined)}
        />
      )}
      <button type="button" className="backdrop" aria-label="Close" onClick={() => setDrawer(undefined)} />
    </div>
  )
}
