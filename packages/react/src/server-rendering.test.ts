import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, it } from 'vitest'
import { AgentTree, Conversation, ThreadList, Timeline, useRun, useThread, useThreads } from './index.ts'

function Page() {
  const thread = useThread({ url: '/agent', threadId: 't1' })
  const threads = useThreads({ url: '/agent', thread })
  const run = useRun(thread)
  const agent = { name: 'Desk', description: 'Helps.' }
  return createElement(
    'main',
    { 'data-run': run?.runId ?? 'none' },
    createElement(ThreadList, { threads, current: 't1', onChoose: () => undefined }),
    createElement(Conversation, { thread, empty: 'Hello', labels: { writeMessage: 'Schreib etwas' } }),
    createElement(AgentTree, { agent, thread }),
    createElement(Timeline, { thread }),
  )
}

it('a server renders the parts without a window, and asks nothing', () => {
  expect(globalThis).not.toHaveProperty('window')
  const html = renderToString(createElement(Page))
  expect(html).toContain('data-status="loading"')
  expect(html).toContain('placeholder="Schreib etwas"')
  expect(html).toContain('data-run="none"')
  // Whether it is a new conversation is not known yet.
  expect(html).not.toContain('Hello')
})
