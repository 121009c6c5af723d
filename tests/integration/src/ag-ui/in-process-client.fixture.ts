import { AbstractAgent } from '@ag-ui/client'
import { type BaseEvent, type Tool as ClientTool, EventType, type RunAgentInput } from '@ag-ui/core'
import { AgUiAgent, type AgUiAgentOptions, type AgUiEvent, type RunAgentInput as Input } from '@troupe/ag-ui'
import { strictVerifier } from '@troupe/ag-ui/verify'
import { chatModelAgent } from '@troupe/chat-model'
import { type RunnerOptions, runner } from '@troupe/flow'
import type { Agent, Message, Store, ThreadRef, Tool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { sqliteStore } from '@troupe/store-sqlite'
import { type ScriptedModel, type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { from, type Observable } from 'rxjs'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't1' }

/** The stores of the tests, by name. */
export const STORES: [string, () => Store][] = [
  ['in memory', () => memoryStore()],
  ['in SQLite', () => sqliteStore({ path: ':memory:' })],
]

/** An agent whose model follows a script. */
export function scripted(
  turns: readonly ScriptedTurn[],
  tools: readonly Tool[] = [],
  name: string = 'Desk',
): { readonly agent: Agent; readonly model: ScriptedModel } {
  const model = scriptedModel(turns)
  return { model, agent: chatModelAgent({ name, model, instruction: 'Help.', tools }) }
}

/** The AG-UI agent of one server process. */
export function replica(
  agent: Agent,
  store: Store,
  options: Partial<AgUiAgentOptions> = {},
  flow: Partial<RunnerOptions> = {},
): AgUiAgent {
  return new AgUiAgent({
    runner: runner({ agent, store, report: () => {}, ...flow }),
    store,
    appName: 'test',
    userId: 'ann',
    report: () => {},
    ...options,
  })
}

/** The official client without a network: it calls the AG-UI agent in this process and verifies every event. */
export class Client extends AbstractAgent {
  readonly seen: AgUiEvent[] = []
  readonly inputs: RunAgentInput[] = []
  server: AgUiAgent

  constructor(server: AgUiAgent, threadId: string = ANN.threadId) {
    super({ threadId })
    this.server = server
  }

  override run(input: RunAgentInput): Observable<BaseEvent> {
    this.inputs.push(input)
    return from(this.#verified(input))
  }

  async *#verified(input: RunAgentInput): AsyncGenerator<BaseEvent> {
    const verifier = strictVerifier({ messages: input.messages })
    for await (const event of this.server.run(input as Input)) {
      verifier.see(event)
      this.seen.push(event)
      yield event as BaseEvent
    }
    verifier.end()
  }

  /** Sends a text, or only the messages that were added; returns the outcome or the code of an error. */
  async say(text?: string, parameters: Parameters<AbstractAgent['runAgent']>[0] = {}): Promise<string | undefined> {
    if (text !== undefined) this.addMessage({ id: crypto.randomUUID(), role: 'user', content: text })
    this.seen.length = 0
    await this.runAgent(parameters)
    const last = this.seen.at(-1)
    if (last?.type === EventType.RUN_ERROR) return last.code
    return last?.type === EventType.RUN_FINISHED ? last.outcome?.type : undefined
  }

  /** Adds the result of an open call. */
  result(toolCallId: string, content: string): void {
    this.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content })
  }

  get pending(): readonly string[] {
    const last = this.seen.at(-1)
    const outcome = last?.type === EventType.RUN_FINISHED ? last.outcome : undefined
    return outcome?.type === 'success' ? (outcome.pendingToolCallIds ?? []) : []
  }

  get text(): string {
    return this.seen.map((event) => (event.type === EventType.TEXT_MESSAGE_CONTENT ? event.delta : '')).join('')
  }
}

export const PICK: ClientTool = {
  name: 'pick_colour',
  description: 'Lets the user pick a colour.',
  parameters: {
    type: 'object',
    properties: { from: { type: 'array', items: { type: 'string' } } },
    required: ['from'],
  },
}

/** A model turn that calls the client's tool. */
export function picking(...ids: readonly string[]): ScriptedTurn {
  return { toolCalls: ids.map((id) => ({ id, name: PICK.name, arguments: { from: ['red', 'blue'] } })) }
}

/** One line per message: `user Hi`, `assistant -> pick_colour`, `tool pick_colour: red`. */
export function linesOf(messages: readonly Message[] | undefined): readonly string[] {
  return (messages ?? []).map((message) => {
    if (message.role === 'tool') return `tool ${message.name}: ${String(message.content)}`
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []).map(({ name }) => name) : []
    return `${message.role} ${calls.length > 0 ? `-> ${calls.join(', ')}` : String(message.content)}`
  })
}

/** The stored messages of a thread, one line each. */
export async function storedLines(store: Store, ref: ThreadRef = ANN): Promise<readonly string[]> {
  return linesOf((await store.threads.messages(ref, { limit: 1_000 })).map(({ message }) => message))
}
