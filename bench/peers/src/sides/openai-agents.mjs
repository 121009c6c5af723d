/** OpenAI Agents: `Runner.run` with tracing disabled and a fake `Model`. */
import { Agent, Runner, setTracingDisabled, tool, Usage } from '@openai/agents'
import { ARGS_JSON, add, done, nextCallId, priorMessages, QUESTION, resultsSince, WORD } from '../script.mjs'

export const packages = ['@openai/agents', 'zod']
export const imports = ['@openai/agents']

setTracingDisabled(true)
export const runner = new Runner({ tracingDisabled: true })

const isResult = ({ type }) => type === 'function_call_result'
const isUser = ({ role }) => role === 'user'
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
const resultsIn = (input) => (typeof input === 'string' ? 0 : resultsSince(input, isResult, isUser))
const callOf = (callId, name, args) => [{ type: 'function_call', callId, name, arguments: args, status: 'completed' }]
const said = (text) => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
})

function modelOf(outputFor, deltas) {
  return {
    async getResponse({ input }) {
      done.modelCalls++
      return { usage: new Usage(usage), output: outputFor(input) }
    },
    async *getStreamedResponse({ input }) {
      done.modelCalls++
      const output = outputFor(input)
      if (output[0].type === 'message')
        for (let i = 0; i < deltas; i++) yield { type: 'output_text_delta', delta: WORD }
      yield { type: 'response_done', response: { id: 'r', usage, output } }
    },
  }
}

export function model(steps, deltas) {
  const answer = WORD.repeat(deltas)
  return modelOf((input) => {
    const results = resultsIn(input)
    return results < steps ? callOf(nextCallId(), 'add', ARGS_JSON) : [said(answer)]
  }, deltas)
}

export const tools = [
  tool({
    name: 'add',
    description: 'Adds.',
    parameters: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
      additionalProperties: false,
    },
    strict: false,
    execute: add,
  }),
]
const agentOf = (chat) => new Agent({ name: 'bench', model: chat, tools })
const maxTurns = 20

export function invoke({ steps = 0, prior = 0 }) {
  const agent = agentOf(model(steps, 1))
  const input = [
    ...priorMessages(prior, (content, user) => (user ? { type: 'message', role: 'user', content } : said(content))),
    { type: 'message', role: 'user', content: QUESTION },
  ]
  return async () => (await runner.run(agent, input, { maxTurns })).finalOutput
}

export function stream({ steps = 0, deltas = 1 }) {
  const agent = agentOf(model(steps, deltas))
  const input = [{ type: 'message', role: 'user', content: QUESTION }]
  return async () => {
    let text = ''
    for await (const event of await runner.run(agent, input, { maxTurns, stream: true })) {
      if (event.type !== 'raw_model_stream_event' || event.data.type !== 'output_text_delta') continue
      done.deltas++
      text += event.data.delta
    }
    return text
  }
}

export function transfer() {
  const specialist = new Agent({ name: 'specialist', model: model(0, 1) })
  const router = Agent.create({
    name: 'router',
    model: modelOf(() => callOf('c1', 'transfer_to_specialist', '{}'), 1),
    handoffs: [specialist],
  })
  return async () => (await runner.run(router, [{ type: 'message', role: 'user', content: QUESTION }])).finalOutput
}
