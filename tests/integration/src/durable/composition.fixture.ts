import { chatModelAgent } from '@troupe/chat-model'
import { loop, parallel, planExecute, sequential, setSubAgents, supervisor } from '@troupe/flow'
import type { Agent } from '@troupe/kernel'
import type { SubagentEnvironment } from '@troupe/subagent'
import { type CustomKind, customAgent } from './custom-agents.fixture.ts'
import { type Script, scriptedAnswers } from './scripted-answers.fixture.ts'
import { type HandlerName, lossHandler, scriptedHandlers } from './scripted-handlers.fixture.ts'
import type { ScriptedHost } from './scripted-host.fixture.ts'
import { scriptedTools } from './scripted-tools.fixture.ts'

/** A chat-model agent. */
export interface ChatSpec extends Script {
  readonly kind: 'chat'
  readonly handlers: readonly HandlerName[]
  readonly concurrency: number
  /** Whether its answer has to fit a schema. */
  readonly structured?: boolean
  /** Agents that it can transfer to. */
  readonly children: readonly Spec[]
}

/** An agent without steps of its own. */
export interface CustomSpec {
  readonly kind: CustomKind
  readonly children: readonly Spec[]
}

/** An agent that is composed of others. */
export interface ComposedSpec {
  readonly kind: 'sequential' | 'parallel' | 'loop' | 'supervisor' | 'planExecute'
  readonly children: readonly Spec[]
}

/** The plan of an agent; names are given in the order in which agents are met. */
export type Spec = ChatSpec | CustomSpec | ComposedSpec

/** An agent, and the one that runs inside the tools which run agents. */
export interface Composition {
  readonly root: Spec
  readonly inner: Spec
  readonly sub: Script
}

/** Builds the agents of a composition for one process. */
export function compose({ root, inner, sub }: Composition, host: ScriptedHost): Agent {
  const nested = new Builder(host, 'I', false)
  const innerAgent = nested.build(inner)
  const env: SubagentEnvironment = {
    factory: (spec) =>
      chatModelAgent({ ...spec, handlers: [lossHandler(host), ...(spec.handlers ?? [])], retry: false }),
    model: scriptedAnswers(host, 'sub', withCompletion(sub)),
    report: () => undefined,
  }
  const simple = chatModelAgent({
    name: 'simple',
    model: scriptedAnswers(host, 'simple', { ...PLAIN, turns: [{ words: 2, calls: ['streams', 'counts', 'shouts'] }] }),
    tools: scriptedTools(host),
    retry: false,
  })
  return new Builder(host, 'N', true, scriptedTools(host, innerAgent, simple, env)).build(root)
}

function withCompletion(script: Script): Script {
  return { ...script, turns: [...script.turns, { words: 1, calls: ['complete_task'] }] }
}

class Builder {
  readonly #host: ScriptedHost
  readonly #prefix: string
  readonly #exit: boolean
  readonly #tools: ReturnType<typeof scriptedTools>
  #made = 0

  constructor(host: ScriptedHost, prefix: string, exit: boolean, tools = scriptedTools(host)) {
    this.#host = host
    this.#prefix = prefix
    this.#exit = exit
    this.#tools = tools
  }

  build(spec: Spec): Agent {
    const name = `${this.#prefix}${this.#made++}`
    if (spec.kind === 'chat') {
      const head = this.#chat(name, spec)
      return spec.children.length === 0
        ? head
        : setSubAgents(
            head,
            spec.children.map((child) => this.build(child)),
          )
    }
    const agents = spec.children.map((child) => this.build(child))
    const [first = this.#chat(`${name}.1`), second = this.#chat(`${name}.2`), third = this.#chat(`${name}.3`)] = agents
    switch (spec.kind) {
      case 'sequential':
        return sequential({ name, agents: agents.length > 0 ? agents : [first] })
      case 'parallel':
        return parallel({ name, agents: [first, second, ...agents.slice(2)] })
      case 'loop':
        return loop({ name, agents: [first], maxIterations: 2 })
      case 'supervisor':
        return supervisor({ supervisor: this.#chat(name, { ...LEAD, pace: 1 }), agents: [first, second] })
      case 'planExecute':
        return planExecute({ name, planner: first, executor: second, replanner: third, maxIterations: 2 })
      default:
        return customAgent(this.#host, name, spec.kind, agents)
    }
  }

  #chat(
    name: string,
    { handlers, concurrency, structured = false, ...script }: Omit<ChatSpec, 'kind' | 'children'> = PLAIN,
  ): Agent {
    return chatModelAgent({
      name,
      description: `${name} helps.`,
      model: scriptedAnswers(this.#host, name, script),
      fallbacks: [scriptedAnswers(this.#host, name, script, true)],
      tools: this.#tools,
      handlers: scriptedHandlers(this.#host, handlers),
      toolConcurrency: concurrency,
      ...(structured ? { output: ANSWER } : { exit: this.#exit }),
      retry: false,
      maxIterations: 8,
    })
  }
}

const ANSWER = { type: 'object', properties: { said: { type: 'string' } }, required: ['said'] } as const
const PLAIN = { turns: [], pace: 1, callIds: 'own', handlers: [], concurrency: 8 } as const
const LEAD = {
  ...PLAIN,
  turns: [
    { words: 1, calls: ['#0'] },
    { words: 2, calls: ['once', '#1'] },
  ],
}
