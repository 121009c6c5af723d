import { myAgent } from '@acme/my-agent'
import { myCallback } from '@acme/my-callback'
import { myHandler } from '@acme/my-handler'
import { myModel } from '@acme/my-model'
import { myStore } from '@acme/my-store'
import { myTool } from '@acme/my-tool'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { startRun } from '@troupe/kernel/run'

/** A server that first calls the tool for the page, then repeats the page, in capitals if the instruction asks for it. */
let calls = 0
const server: typeof fetch = async (_url, init) => {
  calls++
  const { messages } = JSON.parse(String(init?.body)) as { messages: { role: string; content: string }[] }
  const result = messages.findLast(({ role }) => role === 'tool')?.content
  const suffix = /Answer in capitals and end with (.*)/.exec(messages[0]?.content ?? '')?.[1] ?? ''
  const call = { index: 0, id: 'c1', function: { name: 'my_tool', arguments: '{"url":"https://example.org/"}' } }
  const delta = result === undefined ? { tool_calls: [call] } : { content: result.toUpperCase() + suffix }
  const reason = result === undefined ? 'tool_calls' : 'stop'
  const usage = { prompt_tokens: 15, completion_tokens: 5 }
  const chunk = { choices: [{ delta, finish_reason: reason }], usage }
  return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
}
const page: typeof fetch = async () => new Response('<b>Sunny</b> in Beijing.')

let tokens = 0
const meter = myCallback({
  onRun({ models }) {
    for (const { inputTokens, outputTokens } of Object.values(models)) tokens += inputTokens + outputTokens
  },
})
const agent = chatModelAgent({
  name: 'helper',
  model: myModel({ url: 'http://model.test/v1', model: 'stand-in', fetch: server }),
  tools: [myTool({ hosts: ['example.org'], fetch: page })],
  handlers: [myHandler({ suffix: '!!!' })],
})
const session = { app: 'app', user: 'anna', threadId: 'thread-1' }
{
  await using store = myStore({ path: 'chat.jsonl' })
  const { text } = await runner({ agent, store, callbacks: [meter] }).query('How is the weather?', { session })
  console.log('says', text)
  console.log('used', tokens, 'tokens in', calls, 'calls')
}
await using again = myStore({ path: 'chat.jsonl' })
console.log('kept', (await again.threads.messages(session)).length, 'messages')

const desk = myAgent({ answers: [{ words: ['open'], say: 'We are open from 9 to 5.' }] })
const answer = await startRun(desk, 'When are you open?')
console.log('knows', answer.text)
