import * as assistantUi from '@assistant-ui/react-ag-ui'
import * as assistantUi57 from '@assistant-ui/react-ag-ui-57'
import { describe, expect, it } from 'vitest'
import { type AssistantUi, openPage } from './assistant-ui-page.fixture.ts'
import { calls, serveDesk } from './served-desk.fixture.ts'

const VERSIONS: [string, AssistantUi][] = [
  ['0.0.58', assistantUi],
  ['0.0.57', assistantUi57 as unknown as AssistantUi],
]

describe.each(VERSIONS)('assistant-ui %s', (_, parts) => {
  it('shows an answer, a regenerated one, and that to an edited message', async () => {
    await using desk = await serveDesk(['One.', 'Two.', 'Two again.', 'Three.'])
    await using page = await openPage(desk.url, 't1', parts)
    await page.send('A')
    await page.send('B')
    await page.shows('user: A', 'assistant: One.', 'user: B', 'assistant: Two.')
    await page.reload()
    await page.shows('user: A', 'assistant: One.', 'user: B', 'assistant: Two again.')
    expect(desk.heard()).toEqual(['user: A', 'assistant: One.', 'user: B'])
    await page.edit('user: B', 'C')
    await page.shows('user: A', 'assistant: One.', 'user: C', 'assistant: Three.')
    expect(desk.heard()).toEqual(['user: A', 'assistant: One.', 'user: C'])
    expect(await desk.stored('t1')).toEqual(page.shown)
    expect(page.errors).toEqual([])
  })

  it('regenerates the answer after a call, which does not run again', async () => {
    await using desk = await serveDesk([calls('pay', { amount: 7 }), 'Paid.', 'You have paid.', 'Nothing more.'])
    await using page = await openPage(desk.url, 't1', parts)
    await page.send('Pay')
    await page.approve(true)
    await page.shows('assistant: Paid.')
    await page.reload()
    await page.shows('user: Pay', 'assistant: [pay "Paid 7."]', 'assistant: You have paid.')
    expect(desk.heard()).toEqual(['user: Pay', 'assistant: ', 'tool: Paid 7.'])
    await page.edit('user: Pay', 'What is there to pay?')
    await page.shows('user: What is there to pay?', 'assistant: Nothing more.')
    expect(page.errors).toEqual([])
  })

  it('asks for approval, which is given, refused, and refused with a reason', async () => {
    const pays = calls('pay', { amount: 7 })
    await using desk = await serveDesk([pays, 'Paid.', pays, 'Not paid.', pays, 'As you like.', 'Bye.'])
    await using page = await openPage(desk.url, 't1', parts)
    await page.send('Pay')
    await page.approve(true)
    await page.shows('user: Pay', 'assistant: [pay "Paid 7."]', 'assistant: Paid.')
    await page.send('Pay again')
    await page.approve(false)
    await page.shows('assistant: Not paid.')
    await page.send('Pay once more')
    await page.approve(false, 'Too much.')
    await page.shows('assistant: As you like.')
    expect(desk.heard().at(-1)).toContain('Too much.')
    await page.send('Thanks')
    await page.shows('user: Thanks', 'assistant: Bye.')
    expect(page.errors).toEqual([])
  })

  it('stops a run, and sends the next message', async () => {
    await using desk = await serveDesk([{ text: ['Long ', 'story'], hang: 'mid' }, 'Short.'])
    await using page = await openPage(desk.url, 't1', parts)
    await page.sendAndStop('Tell me', 'assistant: Long ')
    await page.send('Shorter')
    await page.shows('user: Tell me', 'assistant: Long ', 'user: Shorter', 'assistant: Short.')
    expect(desk.heard()).toEqual(['user: Tell me', 'assistant: Long ', 'user: Shorter'])
    expect(page.errors).toEqual([])
  })

  it('runs a tool of the page, and goes on with its result', async () => {
    await using desk = await serveDesk([calls('set_theme', { theme: 'dark' }), 'Dark it is.', 'Bye.'])
    await using page = await openPage(desk.url, 't1', parts)
    await page.send('Dark, please')
    await page.shows('assistant: [set_theme "The page is dark."]', 'assistant: Dark it is.')
    expect(desk.heard().at(-1)).toBe('tool: The page is dark.')
    await page.send('Thanks')
    await page.shows('user: Thanks', 'assistant: Bye.')
    expect(page.errors).toEqual([])
  })

  it('sends a message instead of an answer to a question', async () => {
    await using desk = await serveDesk([calls('pay', { amount: 7 }), 'It is 12.', 'Bye.'])
    await using page = await openPage(desk.url, 't1', parts)
    await page.send('Pay')
    await page.steerAway('First, what is the balance?')
    await page.shows('user: First, what is the balance?', 'assistant: It is 12.')
    expect(desk.heard()).toEqual([
      'user: Pay',
      'assistant: ',
      'tool: The user refused this call.',
      'user: First, what is the balance?',
    ])
    await page.send('Thanks')
    await page.shows('user: Thanks', 'assistant: Bye.')
    expect(page.errors).toEqual([])
  })
})
