/** The loop that one would write without a framework: call the model, run the tools, repeat; an async generator where it streams. */
import { ARGS_JSON, add, done, nextCallId, priorMessages, QUESTION, resultsSince, WORD } from '../script.mjs'

const isResult = ({ role }) => role === 'tool'
const isUser = ({ role }) => role === 'user'
const usage = { inputTokens: 1, outputTokens: 1 }
const instruction = 'Be brief.'
const tools = [{ name: 'add', description: 'Adds.' }]

export function model(steps, deltas) {
  const answer = WORD.repeat(deltas)
  return {
    async generate({ messages }) {
      done.modelCalls++
      const results = resultsSince(messages, isResult, isUser)
      return results < steps
        ? { text: '', toolCalls: [{ id: nextCallId(), name: 'add', arguments: ARGS_JSON }], usage }
        : { text: answer, toolCalls: [], usage }
    },
    async *stream({ messages }) {
      done.modelCalls++
      const results = resultsSince(messages, isResult, isUser)
      if (results < steps) yield { type: 'tool-call', id: nextCallId(), name: 'add', arguments: ARGS_JSON }
      else for (let i = 0; i < deltas; i++) yield { type: 'text-delta', delta: WORD }
      yield { type: 'finish', usage }
    },
  }
}

const answerOf = async ({ id, name, arguments: json }) => ({
  role: 'tool',
  callId: id,
  name,
  content: await add(JSON.parse(json)),
})

async function loop(chat, history) {
  const messages = history.slice()
  const { signal } = new AbortController()
  let tokens = 0
  for (;;) {
    const { text, toolCalls, usage } = await chat.generate({ instruction, messages, tools, signal })
    tokens += usage.inputTokens + usage.outputTokens
    messages.push({ role: 'assistant', content: text, toolCalls })
    if (toolCalls.length === 0) return { text, tokens }
    messages.push(...(await Promise.all(toolCalls.map(answerOf))))
  }
}

export async function* streamed(chat, history) {
  const messages = history.slice()
  const { signal } = new AbortController()
  let tokens = 0
  for (;;) {
    let text = ''
    const toolCalls = []
    for await (const part of chat.stream({ instruction, messages, tools, signal })) {
      if (part.type === 'text-delta') text += part.delta
      else if (part.type === 'tool-call') toolCalls.push(part)
      else tokens += part.usage.inputTokens + part.usage.outputTokens
      if (part.type !== 'finish') yield part
    }
    messages.push({ role: 'assistant', content: text, toolCalls })
    if (toolCalls.length === 0) {
      yield { type: 'end', text, tokens, messages }
      return
    }
    for (const result of await Promise.all(toolCalls.map(answerOf))) {
      messages.push(result)
      yield { type: 'tool-result', result }
    }
  }
}

/** The agent that the model names continues, with the history as context. */
async function transferLoop(models, first, history) {
  const messages = history.slice()
  const { signal } = new AbortController()
  let tokens = 0
  for (let agent = first; ; ) {
    const { text, toolCalls, usage } = await models[agent].generate({ instruction, messages, tools, signal })
    tokens += usage.inputTokens + usage.outputTokens
    const [call] = toolCalls
    if (!call) return { text, tokens }
    const said = `For context: [${agent}] called tool: \`${call.name}\` with arguments: ${call.arguments}.`
    messages.push({ role: 'user', content: said })
    messages.push({ role: 'user', content: `For context: [${agent}] \`${call.name}\` tool returned.` })
    agent = JSON.parse(call.arguments).agent_name
  }
}

export const packages = []
export const imports = []

export function invoke({ steps = 0, prior = 0 }) {
  const chat = model(steps, 1)
  const history = [
    ...priorMessages(prior, (content, user) => ({ role: user ? 'user' : 'assistant', content })),
    { role: 'user', content: QUESTION },
  ]
  return async () => (await loop(chat, history)).text
}

export function stream({ steps = 0, deltas = 1 }) {
  const chat = model(steps, deltas)
  const history = [{ role: 'user', content: QUESTION }]
  return async () => {
    let text = ''
    for await (const part of streamed(chat, history)) {
      if (part.type !== 'text-delta') continue
      done.deltas++
      text += part.delta
    }
    return text
  }
}

export function transfer() {
  const call = { id: 'c1', name: 'transfer_to_agent', arguments: '{"agent_name":"specialist"}' }
  const router = {
    async generate() {
      done.modelCalls++
      return { text: '', toolCalls: [call], usage }
    },
  }
  const models = { router, specialist: model(0, 1) }
  const history = [{ role: 'user', content: QUESTION }]
  return async () => (await transferLoop(models, 'router', history)).text
}
