import type { CallModel, ChatModel, InvokeTool, ModelOptions, StreamTool } from '@troupe/kernel'
import type { JsonSchemaValidator } from '@troupe/kernel/kit'
import type { HandlerChain } from './handlers/handler-chain.ts'
import type { StructuredOutput } from './model/structured-output.ts'
import type { Toolbox } from './tools/toolbox.ts'

/** An agent's options, checked and compiled once. */
export interface Plan {
  readonly instruction: string
  readonly model: ChatModel
  readonly modelOptions: ModelOptions
  /** The tools of the agent, or those of one run. */
  readonly toolbox: Toolbox
  readonly chain: HandlerChain
  /** Whether there are handlers, which may ask questions. */
  readonly hasHandlers: boolean
  /** Calls the model, inside the wraps of all handlers. */
  readonly callModel: CallModel
  /** Whether any handler wraps the model call. */
  readonly wrapsModel: boolean
  /** Calls a tool, inside the wraps of all handlers. */
  readonly invokeTool: InvokeTool
  readonly streamTool: StreamTool
  /** Whether any handler wraps tool calls. */
  readonly wrapsTools: boolean
  readonly validator: JsonSchemaValidator
  readonly concurrency: number
  readonly maxIterations: number
  readonly output: StructuredOutput | undefined
}

/** The plan of a run with other tools. */
export function withToolbox(plan: Plan, toolbox: Toolbox): Plan {
  return toolbox === plan.toolbox ? plan : { ...plan, toolbox }
}
