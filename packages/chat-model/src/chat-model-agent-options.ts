import type { AgentHandler, ChatModel, ModelOptions, Schema, Tool, ToolMeta } from '@troupe/kernel'
import {
  checkModel,
  checkModelOptions,
  checkOption,
  checkOptionNames,
  type JsonSchemaValidator,
  type OptionNames,
} from '@troupe/kernel/kit'
import type { AgentMiddleware } from './handlers/agent-middleware.ts'
import type { RetryPolicy } from './model/retry.ts'

/** Options of a ChatModel agent. */
export interface ChatModelAgentOptions<S extends Schema = Schema> {
  readonly name: string
  /** Says what the agent is for; other agents choose by it. @default '' */
  readonly description?: string
  readonly model: ChatModel
  /** Models to fall back on, in order, when the one before has failed for good. @default [] */
  readonly fallbacks?: readonly ChatModel[]
  /** @default '' */
  readonly instruction?: string
  /** @default [] */
  readonly tools?: readonly (Tool | ToolMeta)[]
  /** Run in order; may contain middlewares too. @default [] */
  readonly handlers?: readonly (AgentHandler | AgentMiddleware)[]
  /** Run before `handlers`. @default [] */
  readonly middlewares?: readonly AgentMiddleware[]
  /** Gives the model a tool to end the run with: `exit {final_result}`, or your own. @default false */
  readonly exit?: boolean | Tool
  /** The schema of the final answer; the result is validated and typed. */
  readonly output?: S
  /** How often the model may correct an answer that does not fit `output`. @default 2 */
  readonly outputCorrections?: number
  /** Model calls in one run. @default 20 */
  readonly maxIterations?: number
  /** Tools of one turn that run at the same time; 1 runs them one after the other. @default 8 */
  readonly toolConcurrency?: number
  /** Settings of every model call. @default {} */
  readonly modelOptions?: ModelOptions
  /** Decides when a failed model call is retried; false never retries. @default backoff() */
  readonly retry?: RetryPolicy | false
  /** Decides when a failed call of a tool with `effect: 'pure'` or `'idempotent'` is made again; false never does. @default backoff() */
  readonly toolRetry?: RetryPolicy | false
  /** Limit of one attempt of a model call. @default none */
  readonly modelTimeoutMs?: number
  /** Limit of one attempt of a tool call. @default none */
  readonly toolTimeoutMs?: number
  /** Limit of a whole run of this agent; one that goes on after a question or a crash has the whole time again. @default none */
  readonly runTimeoutMs?: number
  /** Characters of one model answer, with its reasoning, calls and files; a longer one ends the call with `ANSWER_TOO_LARGE`. @default 8_000_000 */
  readonly maxAnswerChars?: number
  /** Characters of one tool result as JSON; instead of a longer one the model gets the error `RESULT_TOO_LARGE`. @default 4_000_000 */
  readonly maxResultChars?: number
  /** Validates arguments against plain JSON Schema. @default `@cfworker/json-schema` */
  readonly validator?: JsonSchemaValidator
}

const NAMES: OptionNames<ChatModelAgentOptions> = {
  name: true,
  description: true,
  model: true,
  fallbacks: true,
  instruction: true,
  tools: true,
  handlers: true,
  middlewares: true,
  exit: true,
  output: true,
  outputCorrections: true,
  maxIterations: true,
  toolConcurrency: true,
  modelOptions: true,
  retry: true,
  toolRetry: true,
  modelTimeoutMs: true,
  toolTimeoutMs: true,
  runTimeoutMs: true,
  maxAnswerChars: true,
  maxResultChars: true,
  validator: true,
}
const ALIASES = {
  prompt: 'instruction',
  system: 'instruction',
  systemPrompt: 'instruction',
  maxSteps: 'maxIterations',
  maxTurns: 'maxIterations',
  stopWhen: 'maxIterations',
  outputSchema: 'output',
  responseFormat: 'output',
  temperature: 'modelOptions',
  maxRetries: 'retry',
} as const

/** Checks what the options of an agent say. Contract: throws `CONFIG_INVALID`; tools and handlers are checked where they are compiled. */
export function checkAgentOptions(options: ChatModelAgentOptions): void {
  checkOption(typeof options === 'object' && options !== null, 'chatModelAgent', 'expected options', options)
  const { name, model, fallbacks = [], modelOptions = {}, output, exit = false, validator } = options
  const { retry = false, toolRetry = false } = options
  checkOption(typeof name === 'string' && name !== '', 'agent', 'expected a name', name)
  const who = `agent ${name}`
  checkOptionNames(who, options, NAMES, ALIASES)
  const { description, instruction, tools, handlers, middlewares } = options
  checkEach(who, { description, instruction }, isText, 'must be text')
  checkEach(who, { tools, fallbacks, handlers, middlewares }, Array.isArray, 'must be a list')
  checkEach(who, { modelOptions }, isObject, 'must be an object')
  checkEach(who, { validator }, isFunction, 'must be a function')
  checkModelOptions(`${who}: modelOptions`, modelOptions)
  checkModel(who, 'model', model)
  for (const [i, fallback] of fallbacks.entries()) checkModel(who, `fallbacks[${i}]`, fallback)
  const { maxIterations, toolConcurrency, outputCorrections, modelTimeoutMs, toolTimeoutMs, runTimeoutMs } = options
  const { maxAnswerChars, maxResultChars } = options
  const counts = { maxIterations, toolConcurrency, maxAnswerChars, maxResultChars }
  checkEach(who, counts, isWholeFrom(1), 'must be a whole number from 1 on')
  checkEach(who, { outputCorrections }, isWholeFrom(0), 'must be a whole number from 0 on')
  const limits = { modelTimeoutMs, toolTimeoutMs, runTimeoutMs }
  checkEach(who, limits, isPositive, 'must be a positive number of milliseconds')
  checkOption(!output || exit === false, who, 'output and exit exclude each other: the exit result has no schema', exit)
  for (const [option, policy] of Object.entries({ retry, toolRetry })) {
    checkOption(policy === false || isFunction(policy), who, `${option} must be a policy or false`, policy)
  }
}

/** Contract: an option that is not set passes. */
function checkEach(
  who: string,
  options: { readonly [option: string]: unknown },
  is: (value: unknown) => boolean,
  expected: string,
): void {
  for (const [option, value] of Object.entries(options)) {
    checkOption(value === undefined || is(value), who, `${option} ${expected}`, value)
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function isWholeFrom(least: number): (value: unknown) => boolean {
  return (value) => Number.isInteger(value) && (value as number) >= least
}

function isPositive(value: unknown): boolean {
  return Number.isFinite(value) && (value as number) > 0
}
