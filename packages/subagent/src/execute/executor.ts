import {
  type Agent,
  type AgentInput,
  abortScope,
  type Json,
  KernelError,
  type RunContext,
  textOf,
} from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { runNested } from '@troupe/kernel/run'
import { type AgentDefinition, COMPLETE_TASK, isDefinition } from '../define/define-agent.ts'
import { type AgentLimits, resolveLimits } from '../define/limits.ts'
import { misfit } from '../define/misfit.ts'
import type { Position } from './child-tools.ts'
import { Environment, type SubagentEnvironment } from './environment.ts'
import { LEDGER, Ledger } from './ledger.ts'
import { AgentPlan } from './plan.ts'
import type { SubagentReason, SubagentStatus } from './status.ts'
import { SubagentTool } from './subagent-tool.ts'

interface Ending {
  readonly reason: SubagentReason
  readonly error?: KernelError
  /** Whether one turn more may still bring a result. */
  readonly grace?: boolean
}

/**
 * Runs one agent, as often as it is called, each time with a history of its own.
 * Contract: a failure is a status; only a question to a person is thrown.
 * @example const { reason, output } = await new AgentExecutor(investigator, { factory: chatModelAgent, model }).run({ objective }, ctx)
 */
export class AgentExecutor<Inputs = unknown, Output = unknown> {
  readonly definition: AgentDefinition<Inputs, Output>
  readonly path: readonly string[]
  readonly #env: Environment
  readonly #limits: Required<AgentLimits>
  readonly #plan: AgentPlan
  readonly #position: Position
  readonly #elsewhere: Map<string, AgentExecutor<Inputs, Output>> = new Map()

  constructor(
    definition: AgentDefinition<Inputs, Output>,
    environment: SubagentEnvironment | Environment,
    position: Position = { path: [definition.name] },
  ) {
    if (!isDefinition(definition)) throw misfit('AgentExecutor', [], 'expected what defineAgent made', definition)
    this.definition = definition
    this.path = position.path
    const env = Environment.of(environment)
    this.#env = env
    this.#limits = resolveLimits(definition.limits, env.limits)
    this.#plan = new AgentPlan(
      definition,
      env,
      position,
      this.#limits,
      (child, below) => new SubagentTool(new AgentExecutor(child, env, below)),
    )
    this.#position = position
  }

  /** Contract: inside a tool call only; where the call runs again after a question, the agent goes on where it stopped. */
  async run(inputs: Inputs, ctx: RunContext): Promise<SubagentStatus<Output>> {
    const here = this.#below(ctx.get(LEDGER)?.path ?? [])
    if (here !== this) return here.run(inputs, ctx)
    const ledger = new Ledger(this.path, this.#limits, ctx)
    const error = ledger.tooDeep()
    const ending = error ? ({ reason: 'depth', error } as const) : await this.#work(inputs, ctx, ledger)
    return statusOf(this.definition.name, ledger, ending) as SubagentStatus<Output>
  }

  /** The same agent below its caller: one that was given as a tool may be called anywhere, and is nowhere free of the rules for who calls it. */
  #below(caller: readonly string[]): AgentExecutor<Inputs, Output> {
    if (caller.length < this.path.length && caller.every((name, i) => name === this.path[i])) return this
    const path = [...caller, this.definition.name]
    const key = path.join('/')
    const known = this.#elsewhere.get(key)
    if (known) return known
    const made = new AgentExecutor(this.definition, this.#env, { ...this.#position, path })
    this.#elsewhere.set(key, made)
    return made
  }

  async #work(inputs: Inputs, ctx: RunContext, ledger: Ledger): Promise<Ending> {
    let input: AgentInput
    let agent: Agent
    try {
      agent = this.#plan.agent
      const { instruction, query } = this.#plan.render(inputs)
      ledger.instruction = instruction
      input = { messages: [{ id: ctx.ids.next(), role: 'user', content: query }] }
    } catch (error) {
      return { reason: 'error', error: KernelError.from(error) }
    }
    const ending = await this.#attempt(agent, input, ctx, ledger, this.#limits.timeoutMs)
    if (!ending.grace || ledger.output) return ending
    const last = await this.#grace(ending, ctx, ledger)
    return last.reason === 'aborted' ? last : ending
  }

  /** One turn in which nothing but handing in works. */
  async #grace({ reason }: Ending, ctx: RunContext, ledger: Ledger): Promise<Ending> {
    const content = `${WARNINGS[reason] ?? WARNINGS.error} Nothing but \`${COMPLETE_TASK}\` works any more. Call it now with the best result you have, and say what is missing.`
    const messages = repairHistory(ledger.history).concat([{ id: ctx.ids.next(), role: 'user', content }])
    const options = { model: { toolChoice: { tool: COMPLETE_TASK } } }
    const until = ledger.watch.elapsedMs + this.#limits.graceMs
    let agent: Agent
    try {
      agent = this.#plan.graceAgent
    } catch (error) {
      return { reason: 'error', error: KernelError.from(error) }
    }
    return this.#attempt(agent, { messages, options }, ctx, ledger, until)
  }

  async #attempt(agent: Agent, input: AgentInput, ctx: RunContext, ledger: Ledger, untilMs: number): Promise<Ending> {
    const scope = abortScope(ctx.signal)
    ledger.open(untilMs, scope.abort)
    try {
      await runNested(agent, input, ctx.with(LEDGER, ledger).derive({ signal: scope.signal }), {
        forward: this.#env.forward,
        onEvent(event) {
          if (event.type === 'run-end' && event.runId === ledger.runId) ledger.settle(event.usage)
        },
      })
    } catch (cause) {
      return endingOf(KernelError.from(cause), ctx, ledger)
    } finally {
      ledger.close()
      scope[Symbol.dispose]()
    }
    const error = ledger.missed
    if (ledger.output) return error ? { reason: 'max-tool-calls', error } : { reason: 'goal' }
    const message = `${ledger.who}: ended without ${COMPLETE_TASK}`
    return { reason: 'error', error: new KernelError('SUBAGENT_INCOMPLETE', message), grace: true }
  }
}

const WARNINGS: { readonly [reason in SubagentReason]?: string } = {
  'max-turns': 'You have used all your turns.',
  timeout: 'Your time is up.',
  'max-tokens': 'You have used all your tokens.',
  'max-tool-calls': 'You have used all your tool calls.',
  error: `You stopped without calling \`${COMPLETE_TASK}\`.`,
}

/** Contract: a question is thrown on; an abort from outside is one whatever else went wrong. */
function endingOf(error: KernelError, ctx: RunContext, { stopped, turns, limits }: Ledger): Ending {
  if (error.code === 'INTERRUPTED' && 'interruptIds' in error.details) throw error
  if (ctx.signal.aborted || (error.code === 'ABORTED' && ctx.cancelling !== undefined)) {
    return { reason: 'aborted', error }
  }
  if (stopped) return { reason: stopped.reason, error: stopped.error, grace: stopped.own }
  if (error.code === 'MAX_ITERATIONS' && turns >= limits.maxTurns) return { reason: 'max-turns', error, grace: true }
  return { reason: 'error', error }
}

function statusOf(agent: string, ledger: Ledger, { reason, error }: Ending): SubagentStatus {
  const { turns, toolCalls, watch, usage, childrenUsage, output } = ledger
  const incomplete = reason === 'error' && error?.code === 'SUBAGENT_INCOMPLETE'
  const recovered =
    output !== undefined && reason !== 'goal' && reason !== 'aborted' && (reason !== 'error' || incomplete)
  const failed = reason !== 'goal' && !recovered
  const lastWords = failed ? lastWordsOf(ledger) : ''
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

function lastWordsOf({ history }: Ledger): string {
  const last = history.findLast(({ role, content }) => role === 'assistant' && textOf(content).trim() !== '')
  return last ? textOf(last.content).trim() : ''
}
