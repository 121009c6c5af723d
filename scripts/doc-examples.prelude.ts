/** The names that the `@example`s of doc comments use without declaring them, with their real types. */
import type { AgUiAgent, AgUiEvent, AgUiHandler, RunAgentInput } from '../packages/ag-ui/src/index.ts'
import type { CalcPrice } from '../packages/handlers/src/index.ts'
import type {
  Agent,
  AgentAction,
  AgentEvent,
  AgentHandler,
  Callback,
  CallModel,
  ChatModel,
  Message,
  ModelPart,
  ModelRequest,
  Run,
  RunContext,
  Sink,
  Store,
  Thread,
  ThreadRef,
  Tool,
  ToolCallInput,
} from '../packages/kernel/src/index.ts'
import type { JsonSchemaValidator } from '../packages/kernel/src/kit.ts'
import type { McpHandler } from '../packages/mcp/src/server/index.ts'
import type { Queries } from '../packages/store-sql/src/engine.ts'
import type { AgentDefinition, AgentRegistry } from '../packages/subagent/src/index.ts'

export { chatModelAgent } from '../packages/chat-model/src/index.ts'
export { runner } from '../packages/flow/src/index.ts'
export { messageLifecycle } from '../packages/persistence/src/index.ts'
export { sqliteStore } from '../packages/store-sqlite/src/index.ts'

// A run and its context.
export declare const ctx: RunContext
export declare const run: Run
export declare const event: AgentEvent
export declare const events: readonly AgentEvent[]
export declare const messages: Message[]
export declare const session: ThreadRef
export declare const ref: ThreadRef
export declare const thread: Thread
export declare const store: Store
export declare const signal: AbortSignal
export declare const sink: Sink<AgentEvent>
export declare const source: AsyncIterable<AgentEvent>

export declare const calcPrice: CalcPrice

// Agents.
export declare const agent: Agent
export declare const router: Agent
export declare const chatAgent: Agent
export declare const weatherAgent: Agent
export declare const lead: Agent
export declare const researcher: Agent
export declare const writer: Agent
export declare const critic: Agent
export declare const coder: Agent
export declare const security: Agent
export declare const style: Agent
export declare const planner: Agent
export declare const executor: Agent
export declare const replanner: Agent
export declare const investigator: AgentDefinition<{ readonly objective: string }>
export declare const registry: AgentRegistry

// Models, tools, handlers and callbacks.
export declare const model: ChatModel
export declare const request: ModelRequest
export declare const parts: Sink<ModelPart>
export declare const next: CallModel
export declare const tool: Tool
export declare const call: ToolCallInput
export declare const validator: JsonSchemaValidator
export declare const weather: Tool
export declare const finalAnswer: Tool
export declare const search: Tool
export declare const readLog: Tool
export declare const readFile: Tool
export declare const writeFile: Tool
export declare const grep: Tool
export declare const handlers: readonly AgentHandler[]
export declare const callbacks: readonly Callback[]

// AG-UI.
export declare const input: RunAgentInput
export declare const agUiAgent: AgUiAgent
export declare const handler: AgUiHandler
export declare const mcpHandler: McpHandler

// Values and functions of an app.
export declare const agentName: string
export declare const body: string
export declare const error: Error
export declare const given: string | Promise<string>
export declare const id: string
export declare const key: string
export declare const objective: string
export declare const options: { readonly prefix?: string; readonly level?: string }
export declare const prefix: string
export declare const requestId: string
export declare const runId: string
export declare const text: string
export declare const threadId: string
export declare const url: string
export declare const value: unknown
export declare const transaction: Queries
export declare const archive: { write(message: Message): Promise<void> }
export declare function askPerson(): Promise<string>
export declare function confirm(message: string): Promise<boolean>
export declare function fail(reason: string): never
export declare function log(line: string): void
export declare function myModel(): ChatModel
export declare function newFile(): string
export declare function redact(message: Message | undefined): Message
export declare function report(error: Error): void
export declare function send(events: readonly AgUiEvent[]): void
export declare function shout(options?: { readonly suffix?: string }): AgentHandler
export declare function steer(action: AgentAction): void
export declare function userOf(request: Request): { readonly user: string } | undefined
