/** LangGraph: `createAgent`; a `StateGraph` of two of them for the transfer, by a tool that returns a `Command`. */
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatGenerationChunk } from '@langchain/core/outputs'
import { Command, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import { ARGS, ARGS_JSON, add, done, nextCallId, priorMessages, QUESTION, resultsSince, WORD } from '../script.mjs'

export const packages = ['langchain', '@langchain/core', '@langchain/langgraph', 'zod']
export const imports = ['langchain', '@langchain/langgraph']

const isResult = (message) => message.getType() === 'tool'
const isUser = (message) => message.getType() === 'human'

export class Model extends BaseChatModel {
  #steps
  #deltas
  #call
  constructor(steps, deltas, call = { name: 'add', args: ARGS }) {
    super({})
    this.#steps = steps
    this.#deltas = deltas
    this.#call = call
  }
  _llmType() {
    return 'bench'
  }
  bindTools() {
    return this
  }
  #results(messages) {
    done.modelCalls++
    return resultsSince(messages, isResult, isUser)
  }
  async _generate(messages) {
    const results = this.#results(messages)
    const message =
      results < this.#steps
        ? new AIMessage({ content: '', tool_calls: [{ ...this.#call, id: nextCallId(), type: 'tool_call' }] })
        : new AIMessage(WORD.repeat(this.#deltas))
    return { generations: [{ text: message.content, message }] }
  }
  async *_streamResponseChunks(messages, _options, runManager) {
    const results = this.#results(messages)
    if (results < this.#steps) {
      const chunk = { index: 0, id: nextCallId(), name: 'add', args: ARGS_JSON, type: 'tool_call_chunk' }
      const message = new AIMessageChunk({ content: '', tool_call_chunks: [chunk] })
      yield new ChatGenerationChunk({ text: '', message })
      return
    }
    for (let i = 0; i < this.#deltas; i++) {
      const chunk = new ChatGenerationChunk({ text: WORD, message: new AIMessageChunk(WORD) })
      yield chunk
      await runManager?.handleLLMNewToken(WORD, undefined, undefined, undefined, undefined, { chunk })
    }
  }
}

export const tools = [
  tool(add, { name: 'add', description: 'Adds.', schema: z.object({ a: z.number(), b: z.number() }) }),
]
const config = { recursionLimit: 50 }

export function invoke({ steps = 0, prior = 0 }) {
  const agent = createAgent({ model: new Model(steps, 1), tools })
  const messages = [
    ...priorMessages(prior, (content, user, i) => new (user ? HumanMessage : AIMessage)({ content, id: `m${i}` })),
    new HumanMessage({ content: QUESTION, id: 'u1' }),
  ]
  return async () => (await agent.invoke({ messages }, config)).messages.at(-1).content
}

export function stream({ steps = 0, deltas = 1 }) {
  const agent = createAgent({ model: new Model(steps, deltas), tools })
  const messages = [new HumanMessage({ content: QUESTION, id: 'u1' })]
  return async () => {
    let text = ''
    for await (const [message] of await agent.stream({ messages }, { ...config, streamMode: 'messages' })) {
      if (message.getType() !== 'ai' || message.content === '') continue
      done.deltas++
      text += message.content
    }
    return text
  }
}

export function transfer() {
  const transferTool = tool(
    (_, { toolCall, state }) => {
      const result = new ToolMessage({ content: 'ok', tool_call_id: toolCall.id, name: 'transfer_to_specialist' })
      return new Command({
        goto: 'specialist',
        graph: Command.PARENT,
        update: { messages: [...state.messages, result] },
      })
    },
    { name: 'transfer_to_specialist', description: 'Transfers.', schema: z.object({}) },
  )
  const router = createAgent({
    model: new Model(1, 1, { name: 'transfer_to_specialist', args: {} }),
    tools: [transferTool],
    name: 'router',
  })
  const specialist = createAgent({ model: new Model(0, 1), tools: [], name: 'specialist' })
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('router', router.graph, { ends: ['specialist'] })
    .addNode('specialist', specialist.graph)
    .addEdge(START, 'router')
    .addEdge('specialist', END)
    .compile()
  const messages = [new HumanMessage({ content: QUESTION, id: 'u1' })]
  return async () => (await graph.invoke({ messages }, config)).messages.at(-1).content
}
