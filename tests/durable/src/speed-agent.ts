import { chatModelAgent } from '@troupe/chat-model'
import { type Agent, type ChatModel, defineTool, textOf } from '@troupe/kernel'
import { sleep, systemClock } from '@troupe/kernel/kit'

const usage = { inputTokens: 1, outputTokens: 1 }

/** Does nothing: `calls:2` asks for two calls, one after the other, and `words:200` says as many words, a hundred each second, which are the times at which they are said. */
const model: ChatModel = {
  name: 'speed',
  async *stream({ messages }, { signal }) {
    const asked = messages.findLastIndex(({ role }) => role === 'user')
    const [kind, count] = textOf(messages[asked]?.content ?? '').split(':')
    const turn = messages.slice(asked).filter(({ role }) => role === 'assistant').length
    const calls = kind === 'calls' && turn < Number(count)
    if (calls) {
      yield { type: 'tool-call-start', callId: `c${turn}`, name: 'nothing' }
      yield { type: 'tool-call-delta', callId: `c${turn}`, delta: '{}' }
      yield { type: 'tool-call-end', callId: `c${turn}` }
    } else if (kind === 'words') {
      for (let word = 0; word < Number(count); word++) {
        await sleep(systemClock, 10, signal)
        yield { type: 'text-delta', delta: `${Date.now()} ` }
      }
    } else yield { type: 'text-delta', delta: 'Done.' }
    yield { type: 'finish', reason: calls ? 'tool-calls' : 'stop', usage }
  },
}
const nothing = defineTool({
  name: 'nothing',
  description: 'Does nothing.',
  parameters: { type: 'object' },
  invoke: () => 'nothing is done',
})

/** The agent whose runs are measured. */
export const speedAgent: Agent = chatModelAgent({ name: 'speed', model, tools: [nothing], maxIterations: 100 })
