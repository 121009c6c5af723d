import { Conversation, ThreadList, Timeline, useThread, useThreads } from '@troupe/react'
import { useEffect, useRef, useState } from 'react'
import { TOOLS } from './tools.ts'
import { useThreadId } from './use-thread-id.ts'

const PROMPTS = ['Books about cooking', 'Order Small Boats', 'Make the page dark']

/** The whole page: conversations, the chat, and what the agent did. */
export function App() {
  const [threadId, openThread] = useThreadId()
  const thread = useThread({ url: '/agent', threadId, tools: TOOLS })
  const threads = useThreads({ url: '/agent', thread })
  const [isListOpen, showList] = useState(false)
  const composer = useRef<HTMLTextAreaElement>(null)
  const { title } = thread

  useEffect(() => {
    document.title = title ? `${title} · Bookshop` : 'Bookshop'
  }, [title])

  return (
    <div className="app">
      <header className="bar">
        <button
          type="button"
          className="list-button"
          aria-expanded={isListOpen}
          aria-controls="threads"
          onClick={() => showList(!isListOpen)}
        >
          Conversations
        </button>
        <h1>Bookshop</h1>
      </header>
      <div id="threads" className="threads" data-open={isListOpen}>
        <ThreadList
          threads={threads}
          current={threadId}
          onChoose={(id) => {
            openThread(id)
            showList(false)
          }}
          onRemoved={() => composer.current?.focus()}
        />
      </div>
      <main className="chat">
        <Conversation
          thread={thread}
          composerRef={composer}
          empty={
            <section className="welcome" aria-label="Suggestions">
              <h2>What would you like to read?</h2>
              <ul>
                {PROMPTS.map((text) => (
                  <li key={text}>
                    <button type="button" onClick={() => void thread.send(text)}>
                      {text}
                    </button>
                  </li>
                ))}
              </ul>
            </section>
          }
        />
      </main>
      <aside className="panel" aria-label="What the agent did">
        <Timeline thread={thread} />
      </aside>
    </div>
  )
}
