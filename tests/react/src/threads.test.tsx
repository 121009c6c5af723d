import { type Threads, type ThreadsOptions, useThreads } from '@troupe/react'
import { parseHTML } from 'linkedom'
import { StrictMode } from 'react'
import { expect, it, vi } from 'vitest'
import { OWNER, type ServedDesk, serveDesk } from './served-desk.fixture.ts'

/** A page with the list of conversations. */
async function showThreads(options: ThreadsOptions) {
  const { document } = parseHTML('<html><body><main></main></body></html>')
  vi.stubGlobal('window', { addEventListener: () => undefined, removeEventListener: () => undefined })
  vi.stubGlobal('document', document)
  const { createRoot } = await import('react-dom/client')
  let threads: Threads | undefined
  function Page() {
    threads = useThreads(options)
    return null
  }
  const root = createRoot(document.querySelector('main') as unknown as Element)
  root.render(
    <StrictMode>
      <Page />
    </StrictMode>,
  )
  return {
    get now() {
      return threads as Threads
    },
    titles: () => threads?.list.map(({ title }) => title),
    [Symbol.dispose]: () => root.unmount(),
  }
}

/** Begins conversations; the last one is the last changed. */
async function begin({ store }: ServedDesk, ...titles: readonly string[]): Promise<void> {
  for (const title of titles) {
    const ref = { ...OWNER, threadId: title }
    await store.threads.open(ref)
    await store.threads.label?.(ref, { title })
  }
}

it('has the last changed first, page by page, without what edits have cut off', async () => {
  await using desk = await serveDesk([])
  await begin(desk, 'a', 'b', 'c', 'c~1', 'd')
  using page = await showThreads({ url: desk.url, pageSize: 2 })
  await vi.waitFor(() => expect(page.titles()).toEqual(['d', 'c', 'b']))
  page.now.more?.()
  await vi.waitFor(() => expect(page.titles()).toEqual(['d', 'c', 'b', 'a']))
  await vi.waitFor(() => expect(page.now.more).toBeUndefined())
})

it('renames and deletes; a title that is empty is none', async () => {
  await using desk = await serveDesk([])
  await begin(desk, 'a', 'b')
  using page = await showThreads({ url: desk.url })
  await vi.waitFor(() => expect(page.titles()).toEqual(['b', 'a']))
  expect(await page.now.rename('a', 'Holiday')).toBe(true)
  await vi.waitFor(() => expect(page.titles()).toEqual(['b', 'Holiday']))
  expect(await page.now.rename('b', '')).toBe(true)
  expect(await page.now.remove('a')).toBe(true)
  expect(await page.now.remove('unknown')).toBe(false)
  await vi.waitFor(() => expect(page.titles()).toEqual([undefined]))
})

it('keeps what it has when the server is gone, and says that it failed', async () => {
  const desk = await serveDesk([])
  await begin(desk, 'a')
  using page = await showThreads({ url: desk.url })
  await vi.waitFor(() => expect(page.titles()).toEqual(['a']))
  await desk.stop()
  page.now.refresh()
  await vi.waitFor(() => expect(page.now.failed).toBe(true))
  expect(page.titles()).toEqual(['a'])
})
