import type { ChatModel, ModelOptions } from '@troupe/kernel'
import type { JsonSchemaValidator } from '@troupe/kernel/kit'
import type { HandlerChain } from './handlers/handler-chain.ts'
import type { StructuredOutput } from './model/structured-output.ts'
import type { Toolbox } from './tools/toolbox.ts'

/** An agent's options, checked and compiled once. */
export interface Plan {
  readonly instruction: string
  readonly model: ChatModel
  readonly modelOptions: ModelOptions
  readonly toolbox: Toolbox
  readonly chain: HandlerChain
  readonly validator: JsonSchemaValidator
  readonly concurrency: number
  readonly maxIterations: number
  readonly output: StructuredOutput | undefined
}
