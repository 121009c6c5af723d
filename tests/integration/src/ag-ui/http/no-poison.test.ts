import { HttpAgent } from '@ag-ui/client'
import { agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { runner } from '@troupe/flow'
import { expect, it } from 'vitest'
import { ANN, STORES, scripted } from '../in-process-client.fixture.ts'

it.each(STORES)('what a client sends again with every request refuses none of them, %s', async (_, make) => {
  await using store = make()
  const { agent, model } = scripted(Array.from({ length: 9 }, () => 'Seen.'))
  const owner = { app: ANN.app, user: ANN.user }
  const server = await agUiServer(agUiHandler({ runner: runner({ agent, store }), store, owner }))
  try {
    const client = new HttpAgent({ url: server.url, threadId: ANN.threadId })
    const shows = async (source: unknown) => {
      const picture = { type: 'image', source, metadata: { filename: 'cat.png' } }
      client.addMessage({ id: crypto.randomUUID(), role: 'user', content: [picture] as never })
      const types: string[] = []
      await client.runAgent(undefined, { onEvent: ({ event }) => void types.push(event.type) })
      const last = model.requests.at(-1)?.messages.at(-1)?.content
      return [types.at(-1), Array.isArray(last) ? last[0] : last] as const
    }
    const data = (length: number) => ({ type: 'data', value: 'A'.repeat(length), mimeType: 'image/png' })
    const note = (why: string) => ({ type: 'text', text: expect.stringContaining(`"cat.png" left out: ${why}`) })
    // Together they are larger than what may be new.
    for (let i = 0; i < 3; i++) expect(await shows(data(700_000))).toMatchObject(['RUN_FINISHED', { type: 'file' }])
    expect(await shows(data(1_200_000))).toMatchObject(['RUN_FINISHED', note('it has 1200000 characters')])
    expect(await shows({ ...data(4), value: 'ö' })).toMatchObject(['RUN_FINISHED', note('its data is not base64')])
    expect(await shows({ type: 'file', value: 'f1' })).toMatchObject(['RUN_FINISHED', note('only its provider')])
    expect(await shows({ type: 'url', value: 'https://example.org/a.png' })).toMatchObject([
      'RUN_FINISHED',
      { type: 'file', name: 'cat.png' },
    ])
    const stored = await fetch(`${server.url}/threads/${ANN.threadId}/messages?after=6`)
    const { messages } = (await stored.json()) as { messages: readonly { content: unknown }[] }
    expect(messages[0]?.content).toMatch(/left out: it has 1200000 characters/)
  } finally {
    await server.stop(100)
  }
})
