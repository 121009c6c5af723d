import {
  AgentTree,
  Conversation,
  Markdown,
  type PageTools,
  type TextProps,
  ThreadList,
  Timeline,
  useThread,
  useThreads,
} from '@troupe/react'
import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'

declare global {
  /** How often the text of a message was rendered. */
  var renders: Record<string, number>
}

globalThis.renders = {}

function CountedText({ text }: TextProps) {
  const [key = ''] = text.split(' ')
  globalThis.renders[key] = (globalThis.renders[key] ?? 0) + 1
  return <Markdown text={text} />
}

const TOOLS: PageTools = {
  set_theme: {
    description: 'Makes the page light or dark.',
    run: ({ theme }) => {
      document.documentElement.style.colorScheme = String(theme)
      return `The page is ${theme}.`
    },
  },
}

const AGENT = { name: 'Desk', description: 'Pays and books.' }
const query = new URLSearchParams(location.search)
const url = query.get('url') ?? '/agent'

function Page() {
  const [threadId, setThreadId] = useState(query.get('thread') ?? 'new')
  const thread = useThread({ url, threadId, tools: TOOLS })
  const threads = useThreads({ url, thread })
  return (
    <div className="page">
      <ThreadList
        threads={threads}
        current={threadId}
        onChoose={(id = `new-${threads.list.length}`) => setThreadId(id)}
      />
      <main>
        <h1 className="troupe-hidden">Parts</h1>
        <Conversation thread={thread} components={{ Text: CountedText }} accept="image/*" empty={<p>Hello</p>} />
      </main>
      <aside>
        <AgentTree agent={AGENT} tools={[{ name: 'finder', description: 'Finds.' }]} thread={thread} />
        <Timeline thread={thread} />
      </aside>
    </div>
  )
}

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)
