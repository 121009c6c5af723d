import { type Agent, type AgentInput, JOURNAL, type Json, KernelError, type RunContext, textOf } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { abortScope } from '@troupe/kernel/kit'
import { runNested } from '@troupe/kernel/run'
import { type AgentLimits, resolveLimits } from '../define/agent-limits.ts'
import { configError } from '../define/config-error.ts'
import { type AgentDefinition, COMPLETE_TASK, isDefinition } from '../define/define-agent.ts'
import { AgentPlan } from './agent-plan.ts'
import { BUDGET, Budget } from './budget.ts'
import { guardsIn, withGuard } from './caller-guards.ts'
import type { AgentPosition } from './child-tools.ts'
import { Environment, type SubagentEnvironment, type ToolGuard } from './environment.ts'
import type { SubagentReason, SubagentStatus } from './subagent-status.ts'
import { SubagentTool } from './subagent-tool.ts'

interface AttemptOutcome {
  readonly reason: SubagentReason
  readonly error?: KernelError
  /** Whether a grace turn may follow. */
  readonly grace?: boolean
}

/**
 * Runs an agent any number of times, each time with its own history.
 * Contract: gives a status also for a failure; throws only a question to a person.
 * @example const { reason, output } = await new AgentExecutor(investigator, { factory: chatModelAgent, model }).run({ objective }, ctx)
 */
export class AgentExecutor<Inputs = unknown, Output = unknown> {
  readonly definition: AgentDefinition<Inputs, Output>
  readonly path: readonly string[]
  readonly #env: Environment
  readonly #limits: Required<AgentLimits>
  readonly #plan: AgentPlan
  readonly #position: AgentPosition
  readonly #atOtherPaths: Map<string, AgentExecutor<Inputs, Output>> = new Map()

  constructor(
    definition: AgentDefinition<Inputs, Output>,
    environment: SubagentEnvironment | Environment,
    position: AgentPosition = { path: [definition.name] },
  ) {
    if (!isDefinition(definition))
      throw configError('AgentExecutor', [], 'expected a definition made by defineAgent', definition)
    this.definition = definition
    this.path = position.path
    const env = Environment.of(environment)
    this.#env = env
    this.#limits = resolveLimits(definition.limits, env.limits)
    this.#plan = new AgentPlan(definition, env, position, this.#limits, (child, below) =>
      subagentTool(child, env, below),
    )
    this.#position = position
  }

  /** Runs the agent inside a tool call. Contract: if the call runs again after a question, the agent continues where it stopped. */
  async run(inputs: Inputs, ctx: RunContext): Promise<SubagentStatus<Output>> {
    const here = this.#below(
      ctx.get(BUDGET)?.path ?? [],
      guardsIn(ctx).filter((guard) => guard !== this.#env.guard),
    )
    if (here !== this) return here.run(inputs, ctx)
    const budget = new Budget(this.path, this.#limits, ctx)
    const error = budget.tooDeep()
    const outcome = error ? ({ reason: 'depth', error } as const) : await this.#work(inputs, ctx, budget)
    if (outcome.reason !== 'aborted' && ctx.get(JOURNAL)) budget.watch.elapsedMs = await elapsedOf(budget, ctx)
    return statusOf(this.definition.name, budget, outcome) as SubagentStatus<Output>
  }

  /** Gives the same agent below its caller: an agent given as a tool may be called anywhere, and the caller's limits and guards apply to it. */
  #below(caller: readonly string[], guards: readonly ToolGuard[]): AgentExecutor<Inputs, Output> {
    const isBelow = caller.length < this.path.length && caller.every((name, i) => name === this.path[i])
    if (isBelow && isUnder(guards, this.#position)) return this
    const path = isBelow ? this.path : [...caller, this.definition.name]
    const key = path.join('/')
    const known = this.#atOtherPaths.get(key)
    if (known && isUnder(guards, known.#position)) return known
    const made = new AgentExecutor(this.definition, this.#env, { ...this.#position, path, guards })
    this.#atOtherPaths.set(key, made)
    return made
  }

  async #work(inputs: Inputs, ctx: RunContext, budget: Budget): Promise<AttemptOutcome> {
    let input: AgentInput
    let agent: Agent
    try {
      agent = this.#plan.agent
      const { instruction, query } = this.#plan.render(inputs)
      budget.instruction = instruction
      input = { messages: [{ id: ctx.ids.next(), role: 'user', content: query }] }
    } catch (error) {
      return { reason: 'error', error: KernelError.from(error) }
    }
    const outcome = await this.#attempt(agent, input, ctx, budget, this.#limits.timeoutMs)
    if (!outcome.grace || budget.output) return outcome
    const last = await this.#grace(outcome, ctx, budget)
    return last.reason === 'aborted' ? last : outcome
  }

  /** Runs one turn in which the agent can only submit its result. */
  async #grace({ reason }: AttemptOutcome, ctx: RunContext, budget: Budget): Promise<AttemptOutcome> {
    const content = `${WARNINGS[reason] ?? WARNINGS.error} Nothing but \`${COMPLETE_TASK}\` works any more. Call it now with the best result you have, and say what is missing.`
    const messages = repairHistory(budget.history).concat([{ id: ctx.ids.next(), role: 'user', content }])
    const options = { model: { toolChoice: { tool: COMPLETE_TASK } } }
    const until = budget.watch.elapsedMs + this.#limits.graceMs
    let agent: Agent
    try {
      agent = this.#plan.graceAgent
    } catch (error) {
      return { reason: 'error', error: KernelError.from(error) }
    }
    return this.#attempt(agent, { messages, options }, ctx, budget, until)
  }

  async #attempt(
    agent: Agent,
    input: AgentInput,
    ctx: RunContext,
    budget: Budget,
    untilMs: number,
  ): Promise<AttemptOutcome> {
    const scope = abortScope(ctx.signal)
    budget.open(untilMs, scope.abort)
    try {
      const inside = withGuard(ctx.with(BUDGET, budget).derive({ signal: scope.signal }), this.#env.guard)
      await runNested(agent, input, inside, {
        forward: this.#env.forward,
        onEvent(event) {
          if (event.type === 'run-end' && event.runId === budget.runId) budget.settle(event.usage)
        },
      })
    } catch (cause) {
      const error = KernelError.from(cause)
      if (error.code === 'TIMEOUT') budget.repeatTimeout(error)
      return outcomeOf(error, ctx, budget)
    } finally {
      budget.close()
      scope[Symbol.dispose]()
    }
    const error = budget.skipped
    if (budget.output) return error ? { reason: 'max-tool-calls', error } : { reason: 'goal' }
    const message = `${budget.who}: ended without ${COMPLETE_TASK}`
    return { reason: 'error', error: new KernelError('SUBAGENT_INCOMPLETE', message), grace: true }
  }
}

/**
 * Makes a tool of an agent.
 * @example chatModelAgent({ name: 'lead', model, tools: [subagentTool(investigator, { factory: chatModelAgent, model })] })
 */
export function subagentTool<Inputs, Output>(
  definition: AgentDefinition<Inputs, Output>,
  environment: SubagentEnvironment | Environment,
  position?: AgentPosition,
): SubagentTool<Inputs, Output> {
  const env = Environment.of(environment)
  const executor = new AgentExecutor(definition, env, position)
  const tool = new SubagentTool(definition, (inputs: Inputs, ctx) => executor.run(inputs, ctx), env.guard)
  env.made(tool, !(environment instanceof Environment))
  return tool
}

function isUnder(guards: readonly ToolGuard[], { guards: own = [] }: AgentPosition): boolean {
  return own.length === guards.length && own.every((guard, i) => guard === guards[i])
}

const WARNINGS: { readonly [reason in SubagentReason]?: string } = {
  'max-turns': 'You have used all your turns.',
  timeout: 'Your time is up.',
  'max-tokens': 'You have used all your tokens.',
  'max-tool-calls': 'You have used all your tool calls.',
  error: `You stopped without calling \`${COMPLETE_TASK}\`.`,
}

/** Contract: rethrows a question; an abort from outside takes precedence over other failures. */
function outcomeOf(error: KernelError, ctx: RunContext, { stopped, turns, limits }: Budget): AttemptOutcome {
  if (error.code === 'INTERRUPTED' && 'interruptIds' in error.details) throw error
  if (ctx.signal.aborted || (error.code === 'ABORTED' && ctx.cancelling !== undefined)) {
    return { reason: 'aborted', error }
  }
  if (stopped) return { reason: stopped.reason, error: stopped.error, grace: stopped.own }
  if (error.code === 'MAX_ITERATIONS' && turns >= limits.maxTurns) return { reason: 'max-turns', error, grace: true }
  return { reason: 'error', error }
}

/** The working time, which is the same when the run goes on after a crash, because the result has it. */
async function elapsedOf({ watch }: Budget, ctx: RunContext): Promise<number> {
  const { elapsedMs } = watch
  try {
    return await ctx.perform('elapsed', async () => elapsedMs)
  } catch {
    // A run that goes no further than its journal still has the result.
    return elapsedMs
  }
}

function statusOf(agent: string, budget: Budget, { reason, error }: AttemptOutcome): SubagentStatus {
  const { turns, toolCalls, watch, usage, childrenUsage, output } = budget
  const incomplete = reason === 'error' && error?.code === 'SUBAGENT_INCOMPLETE'
  const recovered =
    output !== undefined && reason !== 'goal' && reason !== 'aborted' && (reason !== 'error' || incomplete)
  const failed = reason !== 'goal' && !recovered
  const lastWords = failed ? lastWordsOf(budget) : ''
  return {
    agent,
    reason: recovered && incomplete ? 'goal' : reason,
    recovered,
    turns,
    toolCalls,
    durationMs: watch.elapsedMs,
    usage,
    childrenUsage,
    ...(output && { output: output.value as Json }),
    ...(failed && error && { error: error.toJSON() }),
    ...(lastWords !== '' && { lastWords }),
  }
}

function lastWordsOf({ history }: Budget): string {
  const last = history.findLast(({ role, content }) => role === 'assistant' && textOf(content).trim() !== '')
  return last ? textOf(last.content).trim() : ''
}
