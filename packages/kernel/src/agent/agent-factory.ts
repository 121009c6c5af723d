import type { Agent } from './agent.ts'
import type { AgentHandler } from './handler.ts'
import type { ChatModel } from './model.ts'
import type { ToolMeta } from './tool.ts'

/** Makes a model-driven agent, so that a plugin need not know the implementation. */
export type AgentFactory = (spec: AgentSpec) => Agent

/** Settings for an AgentFactory. */
export interface AgentSpec {
  readonly name: string
  readonly description: string
  readonly instruction: string
  readonly model: ChatModel
  readonly tools: readonly ToolMeta[]
  readonly handlers: readonly AgentHandler[]
  readonly maxIterations: number
}
