import {
  type Agent,
  type AgentConfig,
  type AgentInput,
  type EventDraft,
  type Infer,
  type Json,
  type ResumeInfo,
  type RunContext,
  type RunOptions,
  type Schema,
  type Sink,
  stream,
} from '@troupe/kernel'
import { checkHandler, toolMetas } from '@troupe/kernel/kit'
import { type ChatModelAgentOptions, checkAgentOptions } from './chat-model-agent-options.ts'
import { withinLimit } from './errors/within-limit.ts'
import { isMiddleware, middlewareHandler } from './handlers/agent-middleware.ts'
import { HandlerChain } from './handlers/handler-chain.ts'
import { hasAny, wrapInvoke, wrapModelCall, wrapStream } from './handlers/handler-wraps.ts'
import { HookQuestions } from './handlers/hook-questions.ts'
import { hookedLoop } from './hooked-loop.ts'
import { isAsking, Loop } from './loop.ts'
import { BEGIN, checkLoopState, readLoopState } from './loop-state.ts'
import { modelCall } from './model/model-call.ts'
import { backoff } from './model/retry.ts'
import { structuredOutput } from './model/structured-output.ts'
import { type Plan, withToolbox } from './plan.ts'
import { exitTool } from './tools/exit-tool.ts'
import { toolCall } from './tools/tool-call.ts'
import { Toolbox } from './tools/toolbox.ts'
import { validateJsonSchema } from './tools/validate-json-schema.ts'

/** The time that a run has to end properly after its limit. */
const GRACE_MS = 1_000

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
  const run = (input: AgentInput | ResumeInfo, ctx: RunContext) =>
    stream<EventDraft>((sink) => {
      const work = (limited: RunContext) => runLoop(plan, input, limited, sink)
      return runTimeoutMs === undefined ? work(ctx) : withinLimit(ctx, runTimeoutMs, `agent ${name}`, work, GRACE_MS)
    })
  const checkState = (state: Json) => checkLoopState(name, state, plan.toolbox)
  return { name, description, acceptsAdditions: true, recordsSteps: true, run, resume: run, checkState }
}

function compile(options: ChatModelAgentOptions): Plan {
  checkAgentOptions(options)
  const {
    name,
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
    retry = RETRY,
    toolRetry = RETRY,
    modelTimeoutMs,
    toolTimeoutMs,
    maxAnswerChars = 8_000_000,
    maxResultChars = 4_000_000,
    validator = validateJsonSchema,
  } = options
  const list = [
    ...middlewares.map((entry) => middlewareHandler(entry, `agent ${name}`)),
    ...handlers.map((entry) => (isMiddleware(entry) ? middlewareHandler(entry, `agent ${name}`) : entry)),
  ]
  for (const handler of list) checkHandler(handler)
  const exits = exit === false ? [] : [exit === true ? exitTool() : exit]
  // Every run adds the tools of the middlewares, so their names are checked here.
  toolMetas([...tools, ...exits, ...middlewares.flatMap(({ additionalTools = [] }) => additionalTools)])
  const structured = output && structuredOutput(output, outputCorrections, validator)
  const innermost = toolCall(validator, { timeoutMs: toolTimeoutMs, retry: toolRetry || noRetry }, maxResultChars)
  const attempts = { retry: retry || noRetry, timeoutMs: modelTimeoutMs, maxChars: maxAnswerChars }
  return {
    instruction,
    model,
    modelOptions: structured ? { ...modelOptions, responseSchema: structured.schema } : modelOptions,
    toolbox: new Toolbox(toolMetas([...tools, ...exits])),
    chain: new HandlerChain(list),
    hasHandlers: list.length > 0,
    wrapsModel: hasAny(list, 'wrapModelCall'),
    callModel: wrapModelCall(list, modelCall([model, ...fallbacks], attempts)),
    invokeTool: wrapInvoke(list, innermost.invoke, maxResultChars),
    streamTool: wrapStream(list, innermost.stream, maxResultChars),
    wrapsTools: hasAny(list, 'wrapInvokableToolCall', 'wrapStreamableToolCall'),
    validator,
    concurrency: toolConcurrency,
    maxIterations,
    output: structured,
  }
}

/** The policy of an agent that does not name one. */
const RETRY = backoff()

/** The policy of `retry: false` and `toolRetry: false`. */
function noRetry(): undefined {}

/** Runs the loop with the configuration that the input gives it; `beforeAgent` may change it. */
function runLoop(
  agentPlan: Plan,
  input: AgentInput | ResumeInfo,
  ctx: RunContext,
  sink: Sink<EventDraft>,
): Promise<void> {
  const { messages, additions, options } = input
  const { instruction, toolbox } = agentPlan
  const plan = additions?.tools ? withToolbox(agentPlan, toolbox.with(additions.tools)) : agentPlan
  const added = additions?.instruction ?? ''
  const config: AgentConfig = {
    instruction: instruction !== '' && added !== '' ? `${instruction}\n\n${added}` : instruction + added,
    tools: plan.toolbox.metas.slice(),
    input: { messages },
    runOptions: optionsFor(ctx.agentName, options),
  }
  // The agent stamps its frequent events itself, because the kernel must copy an event to stamp it: 0.6 of 3.3 µs of a tool step.
  const stamp = { runId: ctx.runId, agentName: ctx.agentName, runPath: ctx.runPath }
  const from = 'answers' in input ? readLoopState(ctx.agentName, input.state) : BEGIN
  const answers = 'answers' in input ? { ...from.answers, ...input.answers } : from.answers
  const questions = plan.hasHandlers ? new HookQuestions(answers) : undefined
  const own = questions ? ctx.derive({ call: questions }) : ctx
  const parts = { config, ctx: own, stamp, sink, questions, from, answers }
  if (plan.chain.hasAgentHooks) return hookedLoop(plan, parts)
  const loop = new Loop(plan, parts)
  return questions ? plainLoop(loop, ctx, questions) : loop.run()
}

/** The options of a caller for one agent: those by its name come before those for all. */
function optionsFor(agentName: string, options: RunOptions | undefined): RunOptions {
  if (!options?.agents) return { ...options }
  const { agents, ...all } = options
  const own = Object.hasOwn(agents, agentName) ? agents[agentName] : undefined
  if (!own) return all
  const model = (all.model ?? own.model) && { ...all.model, ...own.model }
  const tools = (all.tools ?? own.tools) && { ...all.tools, ...own.tools }
  return { ...all, ...own, ...(model && { model }), ...(tools && { tools }) }
}

/** Runs a loop without hooks around it, whose handlers may ask. */
async function plainLoop(loop: Loop, ctx: RunContext, questions: HookQuestions): Promise<void> {
  try {
    await loop.run()
  } catch (error) {
    if (!isAsking(ctx, questions)) throw error
  }
  const wait = loop.finish()
  if (wait) await wait
}
