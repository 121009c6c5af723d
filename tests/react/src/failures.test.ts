import { describe, expect, it } from 'vitest'
import { calls, OWNER, serveDesk } from './served-desk.fixture.ts'
import { lineOf, showThread } from './shown-thread.fixture.tsx'

const threadId = 't1'
/** A model that fails once. */
const broken = { text: ['Half ', 'an answer'], error: { at: 'mid', error: new Error('broken') } } as const

describe('a run that fails', () => {
  it('is said to have failed, in the words of the server, and is tried again', async () => {
    await using desk = await serveDesk([broken, 'Whole.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('Hi')
    await page.until(({ recovery }) => recovery === 'retry')
    expect(page.now.items.map(lineOf)).toEqual(['user: Hi', 'Desk: Half ', 'note: MODEL_FAILED'])
    expect(page.now.items.at(-1)).toMatchObject({ tone: 'bad', text: expect.stringMatching(/\.$/) })
    await page.now.retry()
    await page.shows('user: Hi', 'Desk: Whole.')
    expect(page.now.recovery).toBeUndefined()
    expect(await desk.stored(threadId)).toEqual(['user: Hi', 'assistant: Whole.'])
  })

  it('because the server is down keeps the message, and sends it when the server is back', async () => {
    const desk = await serveDesk([])
    await using page = await showThread({ url: desk.url, threadId })
    await page.shows()
    await desk.stop()
    expect(await page.now.send('Hi')).toBe(true)
    await page.shows('unsent: Hi', 'note: UNREACHABLE')
    expect(page.now.recovery).toBe('retry')
    const port = Number(new URL(desk.url).port)
    await using back = await serveDesk(['Hello.'], { port, store: desk.store })
    await page.now.retry()
    await page.shows('user: Hi', 'Desk: Hello.')
    expect(await back.stored(threadId)).toEqual(['user: Hi', 'assistant: Hello.'])
  })

  it('because another page runs one keeps the message, and shows that run', async () => {
    await using desk = await serveDesk([{ text: ['Long ', 'story'], hang: 'mid' }, 'Hello.'])
    await using first = await showThread({ url: desk.url, threadId })
    await first.until(({ status }) => status === 'idle')
    // Another host name, so that the pages do not hear of each other.
    const elsewhere = desk.url.replace('127.0.0.1', 'localhost')
    await using second = await showThread({ url: elsewhere, threadId })
    await second.until(({ status }) => status === 'idle')
    await first.now.send('Tell me')
    await first.until(({ items }) => items.length === 2)
    await second.now.send('Hi')
    await second.until(({ items }) => items.length === 4)
    expect(second.now.items.map(lineOf)).toEqual(['user: Tell me', 'Desk: Long ', 'user: Hi', 'note: THREAD_BUSY'])
    expect(second.now.status).toBe('running')
    await second.now.stop()
    await second.shows('user: Tell me', 'Desk: Long ', 'note: stopped', 'unsent: Hi', 'note: THREAD_BUSY')
    await second.now.retry()
    await second.shows('user: Tell me', 'Desk: Long ', 'note: stopped', 'user: Hi', 'Desk: Hello.')
  })

  it('before its first word answers the message when it is tried again, which is not said twice', async () => {
    await using desk = await serveDesk([{ error: { at: 'before', error: new Error('broken') } }, 'Whole.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('Hi')
    await page.until(({ recovery }) => recovery === 'retry')
    await page.now.retry()
    await page.shows('user: Hi', 'Desk: Whole.')
    expect(desk.heard()).toEqual(['user: Hi'])
  })
})

describe('a conversation that cannot be loaded', () => {
  it('says so, and is loaded when the server is back', async () => {
    const desk = await serveDesk(['One.'])
    await using first = await showThread({ url: desk.url, threadId })
    await first.now.send('A')
    await first.shows('user: A', 'Desk: One.')
    first.close()
    await desk.stop()
    await using page = await showThread({ url: desk.url, threadId })
    await page.shows('note: UNREACHABLE')
    expect(page.now.recovery).toBe('retry')
    await using _back = await serveDesk([], { port: Number(new URL(desk.url).port), store: desk.store })
    await page.now.retry()
    await page.shows('user: A', 'Desk: One.')
    expect(page.now.recovery).toBeUndefined()
  })

  it('because nobody is signed in is loaded after that; each request gets the token of its time', async () => {
    let token = ''
    await using desk = await serveDesk([{ text: ['Long ', 'story'], hang: 'mid' }], {
      authenticate: ({ headers }) => (headers.get('authorization') === 'Bearer good' ? OWNER : undefined),
    })
    const headers = async () => ({ authorization: `Bearer ${token}` })
    await using page = await showThread({ url: desk.url, threadId, headers })
    await page.shows('note: UNAUTHENTICATED')
    token = 'good'
    await page.now.retry()
    await page.shows()
    await page.now.send('Hi')
    await page.until(({ items }) => items.length === 2)
    token = 'gone'
    await page.now.stop()
    await page.until(({ status }) => status === 'idle')
    token = 'good'
    await page.now.reload()
    await page.until(({ status }) => status === 'running')
    await page.now.stop()
    await page.shows('user: Hi', 'Desk: Long ', 'note: stopped')
  })
})

describe('retry, regenerate, edit', () => {
  it('makes the last answer again', async () => {
    await using desk = await serveDesk(['One.', 'Two.', 'Two again.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('A')
    await page.shows('user: A', 'Desk: One.')
    await page.now.send('B')
    await page.shows('user: A', 'Desk: One.', 'user: B', 'Desk: Two.')
    await page.now.regenerate()
    await page.shows('user: A', 'Desk: One.', 'user: B', 'Desk: Two again.')
    expect(desk.heard()).toEqual(['user: A', 'assistant: One.', 'user: B'])
    expect(await desk.stored(threadId)).toEqual(['user: A', 'assistant: One.', 'user: B', 'assistant: Two again.'])
  })

  it('changes any message, also the first and one with an open question after it', async () => {
    await using desk = await serveDesk(['One.', calls('pay', { amount: 7 }), 'One else.', 'Two else.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('A')
    await page.shows('user: A', 'Desk: One.')
    await page.now.send('Pay')
    await page.until(({ questions }) => questions.length === 1)
    const [first] = page.now.items
    await page.now.edit(first?.id ?? '', 'Else')
    await page.shows('user: Else', 'Desk: One else.')
    expect(page.now.questions).toEqual([])
    await page.now.send('B')
    await page.shows('user: Else', 'Desk: One else.', 'user: B', 'Desk: Two else.')
    page.close()
    await using again = await showThread({ url: desk.url, threadId })
    await again.shows('user: Else', 'Desk: One else.', 'user: B', 'Desk: Two else.')
    await using before = await showThread({ url: desk.url, threadId: `${threadId}~1` })
    await before.until(({ status }) => status === 'idle')
    expect(before.now.items.map(lineOf)).toEqual(['user: A', 'Desk: One.', 'user: Pay', 'pay: waiting'])
  })

  it('shows the conversation as it is if the server refuses', async () => {
    const desk = await serveDesk(['One.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('A')
    await page.shows('user: A', 'Desk: One.')
    await desk.stop()
    await page.now.regenerate()
    await page.until(({ recovery }) => recovery === 'retry')
    await using _back = await serveDesk([], { port: Number(new URL(desk.url).port), store: desk.store })
    await page.now.retry()
    await page.shows('user: A', 'Desk: One.')
  })
})
