/** ADK: an `LlmAgent` run by `InMemoryRunner.runEphemeral`; sub-agents and `transfer_to_agent` for the transfer. */
import {
  BaseLlm,
  createEvent,
  FunctionTool,
  InMemoryRunner,
  InMemorySessionService,
  LlmAgent,
  LogLevel,
  Runner,
  StreamingMode,
  setLogLevel,
} from '@google/adk'
import { z } from 'zod'
import { ARGS, add, done, priorMessages, QUESTION, resultsSince, WORD } from '../script.mjs'

export const packages = ['@google/adk', 'zod']
export const imports = ['@google/adk']

setLogLevel(LogLevel.ERROR)

const isResult = ({ parts }) => parts[0].functionResponse !== undefined
const isUser = ({ role, parts }) => role === 'user' && parts[0].text !== undefined
const saying = (text) => ({ role: 'model', parts: [{ text }] })
const calling = (id, name, args) => ({ role: 'model', parts: [{ functionCall: { id, name, args } }] })

class Model extends BaseLlm {
  #steps
  #deltas
  #call
  constructor(steps, deltas, call = ['add', ARGS]) {
    super({ model: 'bench' })
    this.#steps = steps
    this.#deltas = deltas
    this.#call = call
  }
  async *generateContentAsync({ contents }, stream) {
    done.modelCalls++
    const results = resultsSince(contents, isResult, isUser)
    if (results < this.#steps) {
      yield { content: calling(`c${results}`, ...this.#call) }
      return
    }
    if (stream) for (let i = 0; i < this.#deltas; i++) yield { content: saying(WORD), partial: true }
    yield { content: saying(WORD.repeat(this.#deltas)) }
  }
  async connect() {
    throw new Error('The bench has no live connection.')
  }
}

const tools = [
  new FunctionTool({
    name: 'add',
    description: 'Adds.',
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: add,
  }),
]
const agentOf = (chat) => new LlmAgent({ name: 'bench', model: chat, instruction: 'Be brief.', tools })
const request = { userId: 'u', newMessage: { role: 'user', parts: [{ text: QUESTION }] } }

async function lastText(events) {
  let text = ''
  for await (const { content } of events) text = content?.parts?.[0]?.text ?? text
  return text
}

/** Gives every run a session with the same prior events, without copying them. */
class PriorSessions extends InMemorySessionService {
  #events
  constructor(events) {
    super()
    this.#events = events
  }
  async getSession({ appName, userId, sessionId }) {
    return { id: sessionId, appName, userId, state: {}, events: this.#events.slice(), lastUpdateTime: 0 }
  }
  async appendEvent({ session, event }) {
    session.events.push(event)
    return event
  }
}

export function invoke({ steps = 0, prior = 0 }) {
  const agent = agentOf(new Model(steps, 1))
  if (prior > 0) {
    const events = priorMessages(prior, (text, user) =>
      createEvent({
        author: user ? 'user' : 'bench',
        content: { role: user ? 'user' : 'model', parts: [{ text }] },
      }),
    )
    const runner = new Runner({ appName: 'bench', agent, sessionService: new PriorSessions(events) })
    return () => lastText(runner.runAsync({ ...request, sessionId: 's' }))
  }
  const runner = new InMemoryRunner({ agent })
  return () => lastText(runner.runEphemeral(request))
}

export function stream({ steps = 0, deltas = 1 }) {
  const runner = new InMemoryRunner({ agent: agentOf(new Model(steps, deltas)) })
  const runConfig = { streamingMode: StreamingMode.SSE }
  return async () => {
    let text = ''
    for await (const { content, partial } of runner.runEphemeral({ ...request, runConfig })) {
      if (!partial) continue
      done.deltas++
      text += content.parts[0].text
    }
    return text
  }
}

export function transfer() {
  const specialist = new LlmAgent({
    name: 'specialist',
    model: new Model(0, 1),
    disallowTransferToParent: true,
    disallowTransferToPeers: true,
  })
  const router = new LlmAgent({
    name: 'router',
    model: new Model(Number.POSITIVE_INFINITY, 1, ['transfer_to_agent', { agentName: 'specialist' }]),
    subAgents: [specialist],
  })
  const runner = new InMemoryRunner({ agent: router })
  return () => lastText(runner.runEphemeral(request))
}
