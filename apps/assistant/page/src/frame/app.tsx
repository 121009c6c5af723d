import { Conversation, ThreadList, useThreads } from '@troupe/react'
import { useEffect, useRef, useState } from 'react'
import { AssistantCall } from '../chat/assistant-call.tsx'
import { Suggestions } from '../chat/suggestions.tsx'
import { Welcome } from '../chat/welcome.tsx'
import { useConversation } from '../conversation/use-conversation.ts'
import { Panel } from '../panel/panel.tsx'
import { TopBar } from './top-bar.tsx'
import { useAbout } from './use-about.ts'
import { useDrawer } from './use-drawer.ts'
import { useThreadId } from './use-thread-id.ts'

/** A postcard in place of its call; the messages of the demo stay as they are. */
const COMPONENTS = { Call: AssistantCall, UserActions: () => null, AnswerActions: () => null }

/** The whole page: conversations, the chat, and the panel beside it. */
export function App() {
  const [threadId, openThread] = useThreadId()
  const thread = useConversation(threadId)
  const threads = useThreads({ url: '/agent', thread })
  const about = useAbout()
  const [drawer, setDrawer] = useDrawer()
  const [isPanelShown, showPanel] = useState(true)
  const composer = useRef<HTMLTextAreaElement>(null)
  const { status, items, questions, title, stop } = thread

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.isComposing) return
      if (drawer) setDrawer(undefined)
      else void stop()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [stop, drawer, setDrawer])

  useEffect(() => {
    document.title = title ? `${title} · Troupe` : 'Troupe'
  }, [title])

  const focusComposer = () => {
    if (matchMedia('(pointer: fine)').matches) composer.current?.focus()
  }
  const choose = (id?: string) => {
    openThread(id)
    setDrawer(undefined)
  }
  const send = (text: string) => {
    void thread.send(text)
    focusComposer()
  }
  const canSend = items.length > 0 && status === 'idle' && questions.length === 0
  return (
    <div className="app" data-drawer={drawer} data-panel={isPanelShown}>
      <button type="button" className="skip" inert={drawer !== undefined} onClick={() => composer.current?.focus()}>
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
      <div className="threads" inert={drawer === 'panel'}>
        <ThreadList threads={threads} current={threadId} onChoose={choose} onRemoved={focusComposer} />
      </div>
      <main className="chat" inert={drawer !== undefined}>
        <Conversation
          thread={thread}
          components={COMPONENTS}
          composerRef={composer}
          empty={<Welcome about={about} onSend={send} />}
          aboveComposer={canSend && <Suggestions onSend={send} />}
        />
      </main>
      <Panel thread={thread} about={about} isInert={drawer === 'threads'} onClose={() => setDrawer(undefined)} />
      <button type="button" className="backdrop" aria-label="Close" onClick={() => setDrawer(undefined)} />
    </div>
  )
}
