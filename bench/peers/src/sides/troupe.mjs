/** Troupe, as it would be installed: `chatModelAgent` with `startRun`, and a `runner` for the transfer. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { troupeFolder } from '../footprint.mjs'
import { ARGS_JSON, add, done, nextCallId, priorMessages, QUESTION, resultsSince, WORD } from '../script.mjs'

const { resolve } = createRequire(join(troupeFolder, 'package.json'))
export const imports = ['@troupe/kernel', '@troupe/kernel/run', '@troupe/chat-model', '@troupe/flow'].map(
  (name) => pathToFileURL(resolve(name)).href,
)
export const packages = ['@troupe/kernel', '@troupe/chat-model', '@troupe/flow']

const [{ defineTool, stream: partsOf }, { startRun }, { chatModelAgent }, { agentWithOptions, runner, setSubAgents }] =
  await Promise.all(imports.map((url) => import(url)))

const usage = { inputTokens: 1, outputTokens: 1 }
const STOP = { type: 'finish', reason: 'stop', usage }
const CALLS = { type: 'finish', reason: 'tool-calls', usage }
const DELTA = { type: 'text-delta', delta: WORD }
const isResult = ({ role }) => role === 'tool'
const isUser = ({ role }) => role === 'user'

function callOf(callId, name, args) {
  return [
    { type: 'tool-call-start', callId, name },
    { type: 'tool-call-delta', callId, delta: args },
    { type: 'tool-call-end', callId },
    CALLS,
  ]
}

function* answerOf(deltas) {
  for (let i = 0; i < deltas; i++) yield DELTA
  yield STOP
}

function modelOf(partsFor) {
  return {
    name: 'bench',
    stream: (request) =>
      partsOf(async (sink) => {
        done.modelCalls++
        for (const part of partsFor(request)) {
          const wait = sink.write(part)
          if (wait) await wait
        }
      }),
  }
}

export function model(steps, deltas) {
  return modelOf(({ messages }) => {
    const results = resultsSince(messages, isResult, isUser)
    return results < steps ? callOf(nextCallId(), 'add', ARGS_JSON) : answerOf(deltas)
  })
}

const tool = defineTool({
  name: 'add',
  description: 'Adds.',
  parameters: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  kind: 'think',
  invoke: add,
})
export const agentOf = (chat) => chatModelAgent({ name: 'bench', model: chat, tools: [tool] })
const question = { id: 'u1', role: 'user', content: QUESTION }

export function invoke({ steps = 0, prior = 0 }) {
  const agent = agentOf(model(steps, 1))
  const messages = [
    ...priorMessages(prior, (content, user, i) => ({ id: `m${i}`, role: user ? 'user' : 'assistant', content })),
    question,
  ]
  return async () => (await startRun(agent, { messages })).text
}

export function stream({ steps = 0, deltas = 1 }) {
  const agent = agentOf(model(steps, deltas))
  return async () => {
    let text = ''
    for await (const event of startRun(agent, { messages: [question] })) {
      if (event.type !== 'text-delta') continue
      done.deltas++
      text += event.delta
    }
    return text
  }
}

export function transfer() {
  const specialist = chatModelAgent({ name: 'specialist', model: model(0, 1) })
  const router = chatModelAgent({
    name: 'router',
    model: modelOf(() => callOf('c1', 'transfer_to_agent', '{"agent_name":"specialist"}')),
  })
  const agent = setSubAgents(router, [agentWithOptions(specialist, { disallowTransferToParent: true })])
  const { query } = runner({ agent })
  return async () => (await query(QUESTION)).text
}
