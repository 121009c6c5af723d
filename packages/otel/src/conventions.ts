import { remembered } from './remembered.ts'

/**
 * The names that OpenTelemetry gives to generative AI, as of the semantic conventions 1.41.1: `gen_ai.*` is at the status "development"
 * there, and has left `@opentelemetry/semantic-conventions`. Names that begin with `troupe.` are our own, where the conventions have none.
 */

/** The names of attributes. */
export const ATTR = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  workflow: 'gen_ai.workflow.name',
  agent: 'gen_ai.agent.name',
  requestModel: 'gen_ai.request.model',
  temperature: 'gen_ai.request.temperature',
  maxTokens: 'gen_ai.request.max_tokens',
  stopSequences: 'gen_ai.request.stop_sequences',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenType: 'gen_ai.token.type',
  tool: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCall: 'gen_ai.tool.call.id',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  instructions: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  errorType: 'error.type',
  runId: 'troupe.run.id',
  outcome: 'troupe.outcome',
  replayed: 'troupe.replayed',
  cost: 'troupe.usage.cost',
} as const

/** The values of `gen_ai.operation.name`, each the first word of the name of its spans. */
export const OPERATION = {
  run: 'invoke_workflow',
  agent: 'invoke_agent',
  model: 'chat',
  tool: 'execute_tool',
} as const

/** The names of metrics. */
export const METRIC = {
  duration: 'gen_ai.client.operation.duration',
  tokens: 'gen_ai.client.token.usage',
  timeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  timePerOutputChunk: 'gen_ai.client.operation.time_per_output_chunk',
  cachedTokens: 'troupe.client.cached_tokens',
  cost: 'troupe.client.cost',
  activeRuns: 'troupe.run.active',
  toolFailures: 'troupe.tool.failures',
} as const

/** The boundaries of histograms that the conventions ask for. */
export const BUCKETS: { readonly [unit in 'seconds' | 'chunkSeconds' | 'tokens']: number[] } = {
  seconds: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  chunkSeconds: [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
  tokens: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
}

/** The conventions' name of a provider, by the name that models have in front of their colon. */
const PROVIDERS: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  'amazon-bedrock': 'aws.bedrock',
  bedrock: 'aws.bedrock',
  azure: 'azure.ai.openai',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}

/** The provider and the model that the name of a chat model stands for. */
export interface ModelName {
  readonly provider: string
  readonly model: string
}

/** Reads the name of a chat model, such as `openai:gpt-5`; a name without a provider is a model of the provider `troupe`. */
export const modelNameOf: (name: string) => ModelName = remembered((name) => {
  const colon = name.indexOf(':')
  const vendor = colon > 0 ? name.slice(0, colon) : 'troupe'
  const provider = Object.hasOwn(PROVIDERS, vendor) ? (PROVIDERS[vendor] as string) : vendor
  return { provider, model: name.slice(colon + 1) || name }
})
