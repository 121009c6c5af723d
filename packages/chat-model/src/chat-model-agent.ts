import {
  type Agent,
  type AgentHandler,
  type AgentInput,
  type ChatModel,
  type EventDraft,
  type Infer,
  type ModelOptions,
  type ResumeInfo,
  type RunContext,
  type Schema,
  stream,
  type Tool,
  type ToolMeta,
} from '@troupe/kernel'
import {
  checkHandler,
  checkModel,
  checkModelOptions,
  checkOption,
  checkOptionNames,
  type JsonSchemaValidator,
  type OptionNames,
  toolMetas,
} from '@troupe/kernel/kit'
import { type AgentMiddleware, isMiddleware, middlewareHandler } from './handlers/agent-middleware.ts'
import { HandlerChain } from './handlers/handler-chain.ts'
import { Loop } from './loop.ts'
import { modelCall } from './model/model-call.ts'
import { backoff, type RetryPolicy } from './model/retry.ts'
import { structuredOutput } from './model/structured-output.ts'
import type { Plan } from './plan.ts'
import { withinLimit } from './time-limit.ts'
import { exitTool } from './tools/exit-tool.ts'
import { toolCall } from './tools/tool-call.ts'
import { Toolbox } from './tools/toolbox.ts'
import { validateJsonSchema } from './tools/validator.ts'

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
  /** Limit of one attempt of a model call. @default none */
  readonly modelTimeoutMs?: number
  /** Limit of one tool call. @default none */
  readonly toolTimeoutMs?: number
  /** Limit of a whole run of this agent. @default none */
  readonly runTimeoutMs?: number
  /** Validates arguments against plain JSON Schema. @default `@cfworker/json-schema` */
  readonly validator?: JsonSchemaValidator
}

/**
 * An agent that asks a model, runs the tools it calls, and asks again until there is an answer.
 * @example
 * const agent = chatModelAgent({ name: 'weather', model, instruction: 'Help.', tools: [weather] })
 * const { text } = await startRun(agent, 'How is the weather in Beijing?')
 */
export function chatModelAgent<const S extends Schema = never>(
  options: ChatModelAgentOptions<S>,
): Agent<[S] extends [never] ? unknown : Infer<S>> {
  const plan = compile(options)
  const { name, description = '', runTimeoutMs } = options
  const start = (input: AgentInput | ResumeInfo, ctx: RunContext) =>
    stream<EventDraft>((sink) => {
      const work = (limited: RunContext) => new Loop(plan, limited, sink).run(input)
      return runTimeoutMs === undefined ? work(ctx) : withinLimit(ctx, runTimeoutMs, `agent ${name}`, work, GRACE_MS)
    })
  return { name, description, acceptsAdditions: true, run: start, resume: start }
}

/** The time that a run has to end properly after its limit. */
const GRACE_MS = 1_000

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
  modelTimeoutMs: true,
  toolTimeoutMs: true,
  runTimeoutMs: true,
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

function compile(options: ChatModelAgentOptions): Plan {
  checkOption(typeof options === 'object' && options !== null, 'chatModelAgent', 'expected options', options)
  const {
    name,
    description = '',
    model,
    fallbacks = [],
    instruction = '',
    tools = [],
    handlers = [],
    middlewares = [],
    exit = false,
    output,
    outputCorrections = 2,
    maxIterations = 20,
    toolConcurrency = 8,
    modelOptions = {},
    retry = backoff(),
    modelTimeoutMs,
    toolTimeoutMs,
    runTimeoutMs,
    validator = validateJsonSchema,
  } = options
  checkOption(typeof name === 'string' && name !== '', 'agent', 'expected a name', name)
  const who = `agent ${name}`
  checkOptionNames(who, options, NAMES, ALIASES)
  for (const [option, value] of Object.entries({ description, instruction })) {
    checkOption(typeof value === 'string', who, `${option} must be text`, value)
  }
  for (const [option, value] of Object.entries({ tools, fallbacks, handlers, middlewares })) {
    checkOption(Array.isArray(value), who, `${option} must be a list`, value)
  }
  checkOption(
    typeof modelOptions === 'object' && modelOptions !== null,
    who,
    'modelOptions must be an object',
    modelOptions,
  )
  checkOption(typeof validator === 'function', who, 'validator must be a function', validator)
  checkModelOptions(`${who}: modelOptions`, modelOptions)
  checkModel(who, 'model', model)
  for (const [i, fallback] of fallbacks.entries()) checkModel(who, `fallbacks[${i}]`, fallback)
  const counts = { maxIterations, toolConcurrency }
  for (const [option, value] of Object.entries(counts)) {
    checkOption(Number.isInteger(value) && value >= 1, who, `${option} must be a whole number from 1 on`, value)
  }
  checkOption(
    Number.isInteger(outputCorrections) && outputCorrections >= 0,
    who,
    'outputCorrections must be a whole number from 0 on',
    outputCorrections,
  )
  for (const [option, value] of Object.entries({ modelTimeoutMs, toolTimeoutMs, runTimeoutMs })) {
    checkOption(
      value === undefined || (Number.isFinite(value) && value > 0),
      who,
      `${option} must be a positive number of milliseconds`,
      value,
    )
  }
  checkOption(!output || exit === false, who, 'output and exit exclude each other: the exit result has no schema', exit)
  const policy = retry === false ? () => undefined : retry
  checkOption(typeof policy === 'function', who, 'retry must be a policy or false', retry)
  const legacy = middlewares.map((entry) => middlewareHandler(entry, who))
  const list = [...legacy, ...handlers.map((entry) => (isMiddleware(entry) ? middlewareHandler(entry, who) : entry))]
  for (const handler of list) checkHandler(handler)
  const exits = exit === false ? [] : [exit === true ? exitTool() : exit]
  // Every run adds the tools of the middlewares, so their names are checked here.
  toolMetas([...tools, ...exits, ...middlewares.flatMap(({ additionalTools = [] }) => additionalTools)])
  const structured = output && structuredOutput(output, outputCorrections, validator)
  return {
    instruction,
    model,
    modelOptions: structured ? { ...modelOptions, responseSchema: structured.schema } : modelOptions,
    toolbox: new Toolbox(toolMetas([...tools, ...exits])),
    chain: new HandlerChain(list, {
      ...toolCall(validator, toolTimeoutMs),
      callModel: modelCall({ models: [model, ...fallbacks], retry: policy, timeoutMs: modelTimeoutMs }),
    }),
    validator,
    concurrency: toolConcurrency,
    maxIterations,
    output: structured,
  }
}
