import { setTimeout as sleep } from 'node:timers/promises'
import type { PageTools } from '@troupe/react'
import { describe, expect, it } from 'vitest'
import { calls, OWNER, serveDesk } from './served-desk.fixture.ts'
import { lineOf, showThread } from './shown-thread.fixture.tsx'

const threadId = 't1'

describe('a thread', () => {
  it('is a new conversation if the server does not know it, and then has what was said', async () => {
    await using desk = await serveDesk([{ reasoning: 'A greeting.', text: ['Hel', 'lo.'] }])
    await using page = await showThread({ url: desk.url, threadId })
    await page.shows()
    expect(await page.now.send('Hi')).toBe(true)
    await page.shows('user: Hi', 'Desk: (A greeting.) Hello.')
    expect(page.statuses).toEqual(['loading', 'idle', 'running', 'idle'])
  })

  it('is loaded with its history: thoughts, calls, their results, and what waits', async () => {
    await using desk = await serveDesk([
      { reasoning: 'A note.', toolCalls: [{ name: 'note', arguments: { text: 'milk' } }] },
      'Done.',
      calls('pay', { amount: 7 }),
    ])
    await using first = await showThread({ url: desk.url, threadId })
    await first.now.send('Note milk')
    await first.until(({ items }) => items.some((item) => item.kind === 'text' && item.text === 'Done.'))
    await first.until(({ status }) => status === 'idle')
    await first.now.send('Pay')
    await first.until(({ questions }) => questions.length === 1)
    const shown = first.now.items.map(lineOf)
    expect(shown).toEqual([
      'user: Note milk',
      'Desk: (A note.) ',
      'note: done Noted.',
      'Desk: Done.',
      'user: Pay',
      'pay: waiting',
    ])
    first.close()
    await using second = await showThread({ url: desk.url, threadId })
    await second.shows(...shown)
    expect(second.now.state).toEqual({ notes: ['milk'] })
    expect(second.now.questions).toMatchObject([{ reason: 'tool_call' }])
    expect(second.now.title).toBe('Note milk')
  })

  it('joins the run that is active, with what was before it', async () => {
    await using desk = await serveDesk(['One.', { text: ['Long ', 'story'], hang: 'mid' }])
    await using first = await showThread({ url: desk.url, threadId })
    await first.now.send('A')
    await first.shows('user: A', 'Desk: One.')
    await first.now.send('B')
    await first.until(({ items }) => items.length === 4)
    first.close()
    await using second = await showThread({ url: desk.url, threadId })
    await second.until(({ items }) => items.length === 4)
    expect(second.now.items.map(lineOf)).toEqual(['user: A', 'Desk: One.', 'user: B', 'Desk: Long '])
    expect(second.now.status).toBe('running')
    await second.now.stop()
    await second.shows('user: A', 'Desk: One.', 'user: B', 'Desk: Long ', 'note: stopped')
  })

  it('sends only what is new, so that a page that is behind cuts nothing off', async () => {
    await using desk = await serveDesk(['One.', 'Two.', 'Three.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('A')
    await page.shows('user: A', 'Desk: One.')
    const elsewhere = { messages: [{ id: 'm2', role: 'user', content: 'B' }] }
    const input = { threadId, runId: 'r2', tools: [], context: [], state: {}, forwardedProps: {}, ...elsewhere }
    const headers = { 'content-type': 'application/json' }
    await (await fetch(desk.url, { method: 'POST', headers, body: JSON.stringify(input) })).text()
    await page.now.send('C')
    await page.until(({ items }) => items.length === 4)
    expect(await desk.stored(threadId)).toEqual([
      'user: A',
      'assistant: One.',
      'user: B',
      'assistant: Two.',
      'user: C',
      'assistant: Three.',
    ])
  })

  it('waits with a message while it loads, and sends none during a run', async () => {
    await using desk = await serveDesk([{ text: ['Long ', 'story'], hang: 'mid' }])
    await using page = await showThread({ url: desk.url, threadId })
    expect(page.now.status).toBe('loading')
    expect(await page.now.send('A')).toBe(true)
    expect(await page.now.send('B')).toBe(false)
    expect(await page.now.send('')).toBe(false)
    await page.until(({ items }) => items.length === 2)
    expect(page.now.items.map(lineOf)).toEqual(['user: A', 'Desk: Long '])
  })

  it('shows another conversation when its id changes, and the first one goes on', async () => {
    await using desk = await serveDesk([{ text: ['Long ', 'story'], hang: 'mid' }, 'Short.'])
    const options = { url: desk.url, threadId }
    await using page = await showThread(options)
    await page.now.send('A')
    await page.until(({ items }) => items.length === 2)
    page.change({ ...options, threadId: 't2' })
    await page.shows()
    await page.now.send('B')
    await page.shows('user: B', 'Desk: Short.')
    page.change(options)
    await page.until(({ threadId: shown, items }) => shown === threadId && items.length === 2)
    expect(page.now.items.map(lineOf)).toEqual(['user: A', 'Desk: Long '])
    expect(page.now.status).toBe('running')
  })

  it('leaves its run alone when the page is closed', async () => {
    await using desk = await serveDesk([{ text: ['Long ', 'story'], hang: 'mid' }])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('A')
    await page.until(({ items }) => items.length === 2)
    const { renders } = page
    page.close()
    await sleep(50)
    expect(page.renders).toBe(renders)
    expect((await desk.store.threads.get({ ...OWNER, threadId }))?.runId).toBeDefined()
  })

  it('takes files along, which the history has too', async () => {
    await using desk = await serveDesk(['A cat.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.until(({ status }) => status === 'idle')
    await page.now.send('What is it?', [new File(['\u0089PNG'], 'cat.png', { type: 'image/png' })])
    await page.shows('user: What is it? [cat.png]', 'Desk: A cat.')
    page.close()
    await using again = await showThread({ url: desk.url, threadId })
    await again.shows('user: What is it? [cat.png]', 'Desk: A cat.')
    const [item] = again.now.items
    expect(item).toMatchObject({ files: [{ mediaType: 'image/png', url: 'data:image/png;base64,wolQTkc=' }] })
  })
})

describe('questions', () => {
  it('are answered; the run goes on after the last one', async () => {
    const both = { toolCalls: [calls('pay', { amount: 7 }), calls('pay', { amount: 8 })].flatMap(callsOf) }
    await using desk = await serveDesk([both, 'Paid.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('Pay')
    await page.until(({ questions }) => questions.length === 2)
    expect(await page.now.send('Hello?')).toBe(false)
    const [one, two] = page.now.questions.map(({ id }) => id) as [string, string]
    await page.now.answer(one, { approved: true })
    await page.until(({ questions }) => questions.length === 1)
    expect(page.now.status).toBe('idle')
    await page.now.answer(two, { approved: false })
    await page.shows('user: Pay', 'pay: done Paid 7.', 'pay: failed The user refused this call.', 'Desk: Paid.')
  })

  it('are dismissed; an approval is refused then', async () => {
    await using desk = await serveDesk([calls('pay', { amount: 7 }), 'As you like.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('Pay')
    await page.until(({ questions }) => questions.length === 1)
    await page.now.dismiss(page.now.questions[0]?.id ?? '')
    await page.shows('user: Pay', 'pay: failed The user refused this call.', 'Desk: As you like.')
  })

  it('stay open after an answer that is not one', async () => {
    await using desk = await serveDesk([calls('book'), 'See you.'])
    await using page = await showThread({ url: desk.url, threadId })
    await page.now.send('Book')
    await page.until(({ questions }) => questions.length === 1)
    await page.now.answer(page.now.questions[0]?.id ?? '', { time: 'midnight', people: 2 })
    await page.until(({ items }) => items.some(({ kind }) => kind === 'note'))
    expect(page.now.questions).toHaveLength(1)
    await page.now.answer(page.now.questions[0]?.id ?? '', { time: 'noon', people: 2 })
    await page.until(({ items }) => items.at(-1)?.kind === 'text')
    expect(page.now.items.map(lineOf)).toContain('book: done Booked: {"time":"noon","people":2}.')
  })

  it('that another page has answered are gone, with the answer shown', async () => {
    await using desk = await serveDesk([calls('pay', { amount: 7 }), 'Paid.'])
    await using first = await showThread({ url: desk.url, threadId })
    await first.now.send('Pay')
    await first.until(({ questions }) => questions.length === 1)
    await using second = await showThread({ url: desk.url, threadId })
    await second.until(({ questions }) => questions.length === 1)
    await first.now.answer(first.now.questions[0]?.id ?? '', { approved: true })
    await first.shows('user: Pay', 'pay: done Paid 7.', 'Desk: Paid.')
    await second.shows('user: Pay', 'pay: done Paid 7.', 'Desk: Paid.')
    expect(second.now.questions).toEqual([])
  })
})

function callsOf(turn: ReturnType<typeof calls>) {
  return typeof turn === 'string' ? [] : (turn.toolCalls ?? [])
}

describe('tools of the page', () => {
  const tools: PageTools = {
    set_theme: { description: 'Sets the theme.', run: ({ theme }) => ({ theme }) },
    fail: {
      description: 'Fails.',
      run: () => {
        throw new Error('No such colour.')
      },
    },
  }

  it('run when the model calls them, and the run goes on with their results', async () => {
    await using desk = await serveDesk([calls('set_theme', { theme: 'dark' }), calls('fail'), 'Dark it is.'])
    await using page = await showThread({ url: desk.url, threadId, tools })
    await page.now.send('Dark')
    await page.shows(
      'user: Dark',
      'set_theme: done {"theme":"dark"}',
      'fail: failed No such colour.',
      'Desk: Dark it is.',
    )
    expect(desk.heard().at(-1)).toContain('No such colour.')
  })

  it('run after a reload too, and once with two pages', async () => {
    await using desk = await serveDesk([calls('set_theme', { theme: 'dark' }), 'Dark it is.'])
    const { set_theme } = tools
    // A page that knows of the tool, and is closed before it has run it.
    await using first = await showThread({
      url: desk.url,
      threadId,
      tools: { set_theme: { description: 'Sets the theme.', run: () => new Promise(() => undefined) } },
    })
    await first.now.send('Dark')
    await first.until(({ items }) => items.some((item) => item.kind === 'call' && item.status === 'waiting'))
    first.close()
    let runs = 0
    const counted = { set_theme: { description: '', ...set_theme, run: () => `${++runs}` } }
    await using second = await showThread({ url: desk.url, threadId, tools: counted })
    await second.shows('user: Dark', 'set_theme: done 1', 'Desk: Dark it is.')
    expect(runs).toBe(1)
  })

  it('are stopped by the user; the next message takes that along', async () => {
    await using desk = await serveDesk([calls('wait'), 'Never mind then.'])
    const wait = { description: 'Waits.', run: () => new Promise(() => undefined) }
    await using page = await showThread({ url: desk.url, threadId, tools: { wait } })
    await page.now.send('Wait')
    await page.until(({ items }) => items.some((item) => item.kind === 'call' && item.status === 'waiting'))
    await page.now.stop()
    await page.shows('user: Wait', 'wait: failed The user stopped this.', 'note: stopped')
    await page.now.send('Go on')
    await page.until(({ items }) => items.at(-1)?.kind === 'text')
    expect(desk.heard()).toEqual(['user: Wait', 'assistant: ', expect.stringContaining('stopped'), 'user: Go on'])
  })

  it('that this page does not have leave the call open', async () => {
    await using desk = await serveDesk([calls('set_theme', { theme: 'dark' })])
    await using first = await showThread({
      url: desk.url,
      threadId,
      tools: { set_theme: { description: 'Sets the theme.', run: () => new Promise(() => undefined) } },
    })
    await first.now.send('Dark')
    await first.until(({ items }) => items.some((item) => item.kind === 'call' && item.status === 'waiting'))
    first.close()
    await using other = await showThread({ url: desk.url, threadId })
    await other.shows('user: Dark', 'set_theme: waiting')
  })
})
