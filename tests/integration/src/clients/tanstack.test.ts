import { ChatClient, fetchServerSentEvents, type UIMessage } from '@tanstack/ai-client'
import { expect, it, vi } from 'vitest'
import { calls, type ServedDesk, serveDesk } from './served-desk.fixture.ts'

const THREAD = 't1'

const setTheme = {
  __toolSide: 'client',
  name: 'set_theme',
  description: 'Makes the page light or dark.',
  inputSchema: { type: 'object', properties: { theme: { type: 'string' } }, required: ['theme'] },
  execute: ({ theme }: { theme: string }) => `The page is ${theme}.`,
}

/** The headless client of TanStack AI, which its React, Solid, Vue and Svelte packages are built on. */
function clientOf({ url }: ServedDesk, fetchClient: typeof fetch = fetch): ChatClient {
  const connection = fetchServerSentEvents(url, { fetchClient })
  return new ChatClient({ connection, threadId: THREAD, tools: [setTheme] } as never)
}

function shown(client: ChatClient): readonly string[] {
  return client.getMessages().map(line)
}

function line({ role, parts }: UIMessage): string {
  const words = parts.map((part) => {
    if (part.type === 'text') return part.content
    if (part.type === 'tool-call') return `[${part.name}]`
    return part.type === 'tool-result' ? `[${JSON.stringify(part.content)}]` : `[${part.type}]`
  })
  return `${role}: ${words.join(' ')}`
}

it('shows an answer, a regenerated one, and the next one', async () => {
  await using desk = await serveDesk(['One.', 'Two.', 'Two again.', 'Three.'])
  const client = clientOf(desk)
  await client.sendMessage('A')
  await client.sendMessage('B')
  expect(shown(client)).toEqual(['user: A', 'assistant: One.', 'user: B', 'assistant: Two.'])
  await client.reload()
  expect(shown(client)).toEqual(['user: A', 'assistant: One.', 'user: B', 'assistant: Two again.'])
  expect(desk.heard()).toEqual(['user: A', 'assistant: One.', 'user: B'])
  await client.sendMessage('C')
  expect(await desk.stored(THREAD)).toEqual(shown(client))
  expect(client.getError()).toBeUndefined()
})

it('edits a message', async () => {
  await using desk = await serveDesk(['One.', 'Two.', 'Three.'])
  const client = clientOf(desk)
  await client.sendMessage('A')
  await client.sendMessage('B')
  client.setMessagesManually(client.getMessages().slice(0, 2))
  await client.sendMessage('C')
  expect(shown(client)).toEqual(['user: A', 'assistant: One.', 'user: C', 'assistant: Three.'])
  expect(await desk.stored(THREAD)).toEqual(shown(client))
})

it('answers a question, and sends the next message', async () => {
  await using desk = await serveDesk([calls('pay', { amount: 7 }), 'Paid.', 'Bye.'])
  const client = clientOf(desk)
  await client.sendMessage('Pay')
  const [question] = client.getInterrupts()
  expect(question).toMatchObject({ reason: 'tool_call' })
  const interruptId = question?.interruptId ?? ''
  await client.resumeInterruptsUnsafe([{ interruptId, status: 'resolved', payload: { approved: true } }])
  expect(shown(client).at(-1)).toContain('Paid.')
  await client.sendMessage('Thanks')
  expect(shown(client).at(-1)).toBe('assistant: Bye.')
  expect(client.getError()).toBeUndefined()
})

it('stops a run, and sends the next message', async () => {
  await using desk = await serveDesk([{ text: ['Long ', 'story'], hang: 'mid' }, 'Short.'])
  const client = clientOf(desk)
  const sent = client.sendMessage('Tell me')
  await vi.waitUntil(() => shown(client).at(-1) === 'assistant: Long ')
  client.stop()
  await sent
  await client.sendMessage('Shorter')
  expect(shown(client).at(-1)).toBe('assistant: Short.')
  expect(desk.heard()).toEqual(['user: Tell me', 'assistant: Long ', 'user: Shorter'])
})

it('takes the result of a tool of the page, and goes on with it', async () => {
  await using desk = await serveDesk([calls('set_theme', { theme: 'dark' }), 'Dark it is.', 'Bye.'])
  const client = clientOf(desk)
  await client.sendMessage('Dark, please')
  const call = client
    .getMessages()
    .at(-1)
    ?.parts.find((part) => part.type === 'tool-call')
  expect(call).toMatchObject({ name: 'set_theme', arguments: '{"theme":"dark"}' })
  await client.addToolResult({ toolCallId: call?.id ?? '', tool: 'set_theme', output: 'The page is dark.' })
  expect(shown(client).at(-1)).toContain('Dark it is.')
  expect(desk.heard().at(-1)).toContain('The page is dark.')
  await client.sendMessage('Thanks')
  expect(shown(client).at(-1)).toBe('assistant: Bye.')
  expect(client.getError()).toBeUndefined()
})
