import { type ChatModel, type JsonObject, type ModelPart, type ModelRequest, textOf } from '@troupe/kernel'

/** A model without a key that follows a few rules: it plays every agent of the team by the tools that the agent has. */
export function demoModel(): ChatModel {
  return {
    name: 'demo',
    async *stream({ messages, tools }) {
      const has = (name: string) => tools.some((tool) => tool.name === name)
      const question = questionIn(messages)
      const last = messages.at(-1)
      const found = last?.role === 'tool' ? textOf(last.content) : undefined
      if (has('search_books')) yield* found === undefined ? search(question) : call('complete_task', { result: found })
      else if (found !== undefined) yield* say(found)
      else if (has('find_order')) yield* lookAt(question)
      else if (has('researcher')) yield* call('researcher', { topic: question })
      else yield* transfer(question, targetsIn(tools))
    },
  }
}

/** The last thing that the user said, without what other agents said. */
function questionIn(messages: ModelRequest['messages']): string {
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content))
  return said.findLast((text) => !text.startsWith('For context:')) ?? ''
}

/** The agents that the model can transfer to, according to the tool. */
function targetsIn(tools: ModelRequest['tools']): readonly string[] {
  const parameters = tools.find(({ name }) => name === 'transfer_to_agent')?.parameters
  return (parameters as { properties?: { agent_name?: { enum?: string[] } } })?.properties?.agent_name?.enum ?? []
}

/** Transfers to the agent whose name the question has: to `orders` for "Where is order 1001?". */
function* transfer(question: string, targets: readonly string[]): Generator<ModelPart> {
  const target = targets.find((name) => question.toLowerCase().includes(name.replace(/s$/, '')))
  if (target) yield* call('transfer_to_agent', { agent_name: target })
  else
    yield* say('I am a demo model: ask me "Where is order 1001?", "Refund order 1002" or for "a book about the sea".')
}

function* lookAt(question: string): Generator<ModelPart> {
  const order = Number(/\d+/.exec(question)?.[0] ?? 0)
  yield* call(/refund|money|back/i.test(question) ? 'refund_order' : 'find_order', { order })
}

function* search(topic: string): Generator<ModelPart> {
  yield* call('search_books', { word: topic.match(/\w+/g)?.at(-1) ?? '' })
}

const usage = { inputTokens: 100, outputTokens: 20 }

function* say(text: string): Generator<ModelPart> {
  for (const delta of text.split(/(?<= )/)) yield { type: 'text-delta', delta }
  yield { type: 'finish', reason: 'stop', usage }
}

function* call(name: string, args: JsonObject): Generator<ModelPart> {
  const callId = crypto.randomUUID()
  yield { type: 'tool-call-start', callId, name }
  yield { type: 'tool-call-delta', callId, delta: JSON.stringify(args) }
  yield { type: 'tool-call-end', callId }
  yield { type: 'finish', reason: 'tool-calls', usage }
}
