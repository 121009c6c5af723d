import { chatModelAgent } from '@troupe/chat-model'
import { type FlowRunner, type RunnerOptions, runner } from '@troupe/flow'
import type { AgentHandler, FullStore, Message, ModelRequest, ThreadRef, ToolMeta } from '@troupe/kernel'
import { textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type ScriptedModel, type ScriptedTurn, scriptedModel } from '@troupe/testkit'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't' }

/** About how many tokens a request has. */
export function sizeOf({ tools, instruction, messages }: ModelRequest): number {
  return Math.ceil(JSON.stringify([tools, instruction, messages]).length / 4)
}

/** A model whose usage is the size of its requests. */
export function sizedModel(answer: (request: ModelRequest, call: number) => ScriptedTurn): ScriptedModel {
  let call = 0
  return scriptedModel(
    [
      (request) => {
        const turn = answer(request, ++call)
        const own = typeof turn === 'string' ? { text: turn } : turn
        return { usage: { inputTokens: sizeOf(request), outputTokens: 1 }, ...own }
      },
    ],
    { repeat: true },
  )
}

/** The last message of a person in a request. */
export function asked({ messages }: ModelRequest): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last ? textOf(last.content) : ''
}

/** A summariser that keeps each line of the form `FACT: …`. */
export function factKeeper(): ScriptedModel {
  return scriptedModel(
    [
      (request) =>
        `## Facts\n${[...asked(request).matchAll(/FACT: ([^\n]*)/g)].map(([, fact]) => `- ${fact}`).join('\n')}`,
    ],
    { repeat: true },
  )
}

/** A runner of one agent with handlers, on a store that other runners can have too. */
export function talk(
  model: ScriptedModel,
  handlers: readonly AgentHandler[],
  {
    store = memoryStore(),
    tools = [],
    ...options
  }: Partial<RunnerOptions> & { store?: FullStore; tools?: readonly (ToolMeta | ToolMeta['tool'])[] } = {},
): FlowRunner {
  const agent = chatModelAgent({ name: 'guide', model, instruction: 'Help.', tools, handlers })
  return runner({ agent, store, ...options })
}

/** All messages of a thread. */
export async function messagesOf(store: FullStore, ref: ThreadRef = ANN): Promise<readonly Message[]> {
  return (await store.threads.messages(ref, { limit: 1_000 })).map(({ message }) => message)
}
