import { type Item, type Thread, type ThreadOptions, useThread } from '@troupe/react'
import { parseHTML } from 'linkedom'
import { StrictMode } from 'react'
import type { Root } from 'react-dom/client'
import { expect, vi } from 'vitest'

const WAIT = { timeout: 10_000, interval: 2 }

/** A page with one thread. */
export interface ShownThread extends AsyncDisposable {
  /** The thread as it was rendered last. */
  readonly now: Thread
  /** Every status that was rendered, one after the other. */
  readonly statuses: readonly Thread['status'][]
  readonly renders: number
  /** Waits until the conversation is these lines, and nothing runs. */
  shows(...lines: readonly string[]): Promise<void>
  /** Waits for something of the thread. */
  until(holds: (thread: Thread) => unknown): Promise<void>
  /** Renders again with other options. */
  change(options: ThreadOptions): void
  /** The page is closed; also when the fixture is disposed. */
  close(): void
}

/** Opens a page without a browser, in strict mode. */
export async function showThread(options: ThreadOptions): Promise<ShownThread> {
  const { document } = parseHTML('<html><body><main></main></body></html>')
  // React looks for a window when it is loaded. The parts look for one when they are shown.
  vi.stubGlobal('window', { addEventListener: () => undefined, removeEventListener: () => undefined })
  vi.stubGlobal('document', document)
  const { createRoot } = await import('react-dom/client')
  let thread: Thread | undefined
  let renders = 0
  const statuses: Thread['status'][] = []
  function Page(given: ThreadOptions) {
    thread = useThread(given)
    renders++
    if (statuses.at(-1) !== thread.status) statuses.push(thread.status)
    return null
  }
  const root: Root = createRoot(document.querySelector('main') as unknown as Element)
  const render = (given: ThreadOptions) =>
    root.render(
      <StrictMode>
        <Page {...given} />
      </StrictMode>,
    )
  render({ reconnect: { pauseMs: () => 5, attempts: 3 }, ...options })
  await vi.waitUntil(() => thread !== undefined, WAIT)
  const now = () => thread as Thread
  let isClosed = false
  const close = () => {
    if (!isClosed) root.unmount()
    isClosed = true
  }
  return {
    get now() {
      return now()
    },
    get renders() {
      return renders
    },
    statuses,
    async shows(...lines) {
      await vi.waitFor(() => {
        expect(now().items.map(lineOf)).toEqual(lines)
        expect(now().status).toBe('idle')
      }, WAIT)
    },
    until: async (holds) => void (await vi.waitUntil(() => holds(now()), WAIT)),
    change: render,
    close,
    async [Symbol.asyncDispose]() {
      close()
    },
  }
}

/** An item as one line. */
export function lineOf(item: Item): string {
  switch (item.kind) {
    case 'user':
      return `${item.unsent ? 'unsent' : 'user'}: ${item.text}${item.files.map(({ name }) => ` [${name}]`).join('')}`
    case 'text':
      return `${item.agent}: ${item.thought && `(${item.thought}) `}${item.text}`
    case 'call':
      return `${item.name}: ${item.status}${item.result === undefined ? '' : ` ${item.result}`}`
    case 'note':
      return `note: ${item.code}`
  }
}
