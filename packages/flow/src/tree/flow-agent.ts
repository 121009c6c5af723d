import {
  type Additions,
  type Agent,
  type AgentEvent,
  type AgentInput,
  type EventDraft,
  KernelError,
  type PipeStream,
  pipe,
  type ResumeInfo,
  type RunContext,
  type RunOptions,
  type Sink,
  stream,
} from '@troupe/kernel'
import { openCalls } from '@troupe/kernel/history'
import { observe } from '@troupe/kernel/run'
import { SCENE, type Scene, type SessionLog, sceneFor } from '../session.ts'
import { isComposed, PARTS } from './composed.ts'
import { type Ending, Listener, type Resumption, throwIfCancelled } from './ending.ts'
import { historyFor } from './history-for.ts'
import { type Position, readPosition } from './position.ts'
import { returning } from './returning.ts'
import type { HistoryRewriter } from './rewrite-history.ts'
import { TRANSFER_TOOL, transferAdditions } from './transfer-tool.ts'

/** How an agent stands in its tree. */
export interface FlowOptions {
  /** The agent cannot hand over to its parent: neither tool nor instruction offer it, and the flow refuses it. @default false */
  readonly disallowTransferToParent?: boolean
  /** Makes the history this agent sees. @default rewriteHistory */
  readonly historyRewriter?: HistoryRewriter
  /** Leaves the messages of transfers out of the history this agent sees. @default false */
  readonly skipTransferMessages?: boolean
}

/** Somebody's turn to speak. */
export interface Turn {
  /** Its scene is the one of `SCENE`. */
  readonly ctx: RunContext
  readonly scene: Scene
  readonly additions?: Additions
  readonly options?: RunOptions
  readonly resumption?: Resumption
}

/** An agent with its place in a tree: runs it, decides on its action, and runs those it hands over to. */
export class FlowAgent<Output = unknown> implements Agent<Output> {
  readonly agent: Agent<Output>
  readonly observesItself = true
  readonly acceptsAdditions?: true
  options: FlowOptions
  /** It comes back to its parent by itself, and its model is not told of it. */
  returns = false
  /** It is a part of a workflow, which is no tree to hand over in. */
  inWorkflow = false
  parent: FlowAgent | undefined
  subAgents: readonly FlowAgent[] = []
  #additions: Required<Additions> | undefined
  /** The agent as it runs, once the tree is frozen. */
  #speaker: Agent
  #frozen = false

  constructor(agent: Agent<Output>, options: FlowOptions = {}) {
    this.agent = agent
    this.#speaker = agent
    this.options = options
    if (agent.acceptsAdditions) this.acceptsAdditions = true
  }

  get name(): string {
    return this.agent.name
  }

  get description(): string {
    return this.agent.description
  }

  get frozen(): boolean {
    return this.#frozen
  }

  get root(): FlowAgent {
    let node: FlowAgent = this
    while (node.parent) node = node.parent
    return node
  }

  run(input: AgentInput, ctx: RunContext): PipeStream<EventDraft> {
    return this.#stream(input, ctx)
  }

  resume(info: ResumeInfo, ctx: RunContext): PipeStream<EventDraft> {
    return this.#stream(info, ctx, { state: info.state, answers: info.answers })
  }

  #stream(
    { messages, additions, options }: AgentInput,
    ctx: RunContext,
    resumption?: Resumption,
  ): PipeStream<AgentEvent> {
    return stream(async (sink) => {
      const scene = sceneFor(this, messages, ctx)
      const turn: Turn = {
        ctx: ctx.get(SCENE) === scene ? ctx : ctx.with(SCENE, scene),
        scene,
        ...(additions && { additions }),
        ...(options && { options }),
        ...(resumption && { resumption }),
      }
      const { suspended } = await this.play(turn, sink)
      if (!suspended || (scene.ephemeral && suspended.interrupts.length === 0)) return
      const { runId, runPath } = ctx
      const { interrupts, state } = suspended
      const action = { type: 'interrupt', interrupts, ...(!scene.ephemeral && { state }) } as const
      await sink.write({ type: 'action', runId, agentName: this.name, runPath, action })
    })
  }

  /** Runs this agent and whomever it hands over to, until somebody has the last word. Contract: a failure that was told is in `end`; what is thrown was not told. */
  async play(turn: Turn, sink: Sink<AgentEvent>): Promise<Ending> {
    if (!this.#frozen) this.root.freeze()
    const { ctx, scene, resumption } = turn
    let position: Position = resumption ? readPosition(resumption.state) : this.#begin(scene.session)
    let node = this.at(position)
    let answers = resumption && { ...position.answers, ...resumption.answers }
    let held = answers && position.asked ? { state: position.inner ?? null, answers } : undefined
    let continues = resumption !== undefined || scene.session.fresh
    for (;;) {
      const { hop, path } = position
      const place = hop === 0 ? ctx : ctx.derive({ step: `agent:${hop}`, runPath: [...ctx.runPath, ...path] })
      const before = scene.session.said.length
      const listener = await node.#speak(turn, place, sink, { entry: node === this, continues, held })
      const { end, asked, action } = listener
      const told = end && { end }
      if (end && end.outcome !== 'complete' && end.outcome !== 'interrupted') return { ...told }
      if (asked || (!isComposed(node.agent) && openCalls(scene.session.messages).length > 0)) {
        // A hook that asks while calls wait to run again leaves them waiting.
        const { interrupts = [], state: inner = held?.state } = asked ?? {}
        const { format, agent } = position
        // Who runs again from the start asks the same again; who goes on from what was said asks something else.
        const again = answers && (!node.agent.resume || scene.session.said.length === before)
        const state: Position = {
          format,
          agent,
          path,
          hop,
          asked: asked !== undefined,
          ...(inner !== undefined && { inner }),
          ...(again && { answers }),
        }
        return { ...told, suspended: { interrupts, state } }
      }
      if (action?.type !== 'transfer-to-agent') return { ...told, ...(action && { action }) }
      throwIfCancelled(ctx)
      const target = node.#target(action.agentName)
      if (!node.returns) spend(scene, node.name, target.name)
      position = { format: 1, agent: target.name, path: [...path, node.name], hop: hop + 1, asked: false }
      node = target
      answers = undefined
      held = undefined
      continues = false
    }
  }

  /** Runs the agent itself. */
  async #speak(
    turn: Turn,
    ctx: RunContext,
    sink: Sink<AgentEvent>,
    {
      entry,
      continues,
      held,
    }: { readonly entry: boolean; readonly continues: boolean; readonly held: Resumption | undefined },
  ): Promise<Listener> {
    const agent = this.#speaker
    const { scene, options } = turn
    const { session } = scene
    const composed = isComposed(agent)
    const inner = isComposed(agent) ? ctx.with(SCENE, { ...scene, player: agent[PARTS] }) : ctx
    const additions = this.#additionsFor(turn.additions, entry)
    const history = composed
      ? session.messages
      : historyFor(this.options, session.messages, ctx.derive({ agentName: this.name }), continues)
    const input: AgentInput = {
      messages: Array.isArray(history) ? history : await history,
      ...(additions && { additions }),
      ...(options && { options }),
    }
    const listener = new Listener(ctx, agent, sink, session, composed)
    await pipe(observe(agent, held ? { ...input, ...held } : input, inner), listener)
    session.settle()
    return listener
  }

  /** On a transfer the tools that a caller gave travel along, its instruction stays with the agent it was meant for. */
  #additionsFor(given: Additions | undefined, entry: boolean): Additions | undefined {
    const own = this.#additions
    if (!given || !this.agent.acceptsAdditions) return own
    const words = [entry ? (given.instruction ?? '') : '', own?.instruction ?? '']
    const instruction = words.filter((text) => text !== '').join('\n\n')
    return { instruction, tools: [...(own?.tools ?? []), ...(given.tools ?? [])] }
  }

  /** Whom a new input is for: the agent whose calls it answers, else this one. */
  #begin({ messages, fresh }: SessionLog): Position {
    const start: Position = { format: 1, agent: this.name, path: [], hop: 0, asked: false }
    if (!fresh || messages.at(-1)?.role !== 'tool') return start
    const asker = messages.findLast(({ role }) => role === 'assistant')
    const name = asker?.role === 'assistant' ? asker.agentName : undefined
    if (name === undefined || name === this.name) return start
    const node = this.find(name)
    if (!node) return start
    const path: string[] = []
    for (let above = node.parent; above; above = above.parent) path.unshift(above.name)
    return { ...start, agent: name, path, hop: path.length }
  }

  /** Contract: throws `CHECKPOINT_INVALID` if the tree has no such agent. */
  at({ agent }: Position): FlowAgent {
    const node = this.find(agent)
    if (node) return node
    throw new KernelError('CHECKPOINT_INVALID', `flow ${this.name}: agent '${agent}' is not in the tree any more`)
  }

  #target(name: string): FlowAgent {
    const { options, parent, subAgents } = this
    const child = subAgents.find((node) => node.name === name)
    if (child) return child
    if (parent?.name === name && (this.returns || !options.disallowTransferToParent)) return parent
    const message = `transfer failed: agent '${name}' not found when transferring from '${this.name}'`
    throw new KernelError('TRANSFER_TARGET_UNKNOWN', message, { details: { from: this.name, to: name } })
  }

  /** An agent of the tree by name. */
  find(name: string): FlowAgent | undefined {
    if (name === this.name) return this
    for (const node of this.root.nodes()) if (node.name === name) return node
    return undefined
  }

  /** This agent and all below it. */
  *nodes(): Generator<FlowAgent> {
    yield this
    for (const node of this.subAgents) yield* node.nodes()
  }

  /** This agent and all that stand below or inside it. */
  *reach(seen: Set<FlowAgent> = new Set()): Generator<FlowAgent> {
    if (seen.has(this)) return
    seen.add(this)
    yield this
    for (const node of this.subAgents) yield* node.reach(seen)
    if (isComposed(this.agent)) for (const part of this.agent[PARTS].agents) yield* part.reach(seen)
  }

  /** Whom this agent may hand over to on its own wish. */
  get targets(): readonly FlowAgent[] {
    const { agent, parent, options, subAgents } = this
    const upward = !this.returns && !options.disallowTransferToParent && !isComposed(agent)
    return parent && upward ? [...subAgents, parent] : subAgents
  }

  /** Makes what its agents need to hand over; from now on the tree does not change. */
  freeze(): void {
    if (this.#frozen) return
    for (const node of this.nodes()) {
      const { targets, agent } = node
      if (isComposed(agent)) for (const part of agent[PARTS].agents) part.root.freeze()
      if (targets.length > 0) {
        if (!agent.acceptsAdditions || isComposed(agent)) throw cannotTransfer(node)
        node.#additions = transferAdditions(targets)
      }
    }
    for (const node of this.nodes()) {
      node.#frozen = true
      if (node.returns && node.parent) node.#speaker = returning(node.agent, node.parent.name)
    }
  }
}

function cannotTransfer({ name, subAgents }: FlowAgent): KernelError {
  const why = subAgents.length > 0 ? 'it has sub-agents' : 'it has a parent'
  const message =
    `agent ${name}: takes no additions, so it cannot be given ${TRANSFER_TOOL}, but ${why}; ` +
    'set acceptsAdditions and use input.additions, or set disallowTransferToParent with agentWithOptions()'
  return new KernelError('ADDITIONS_UNSUPPORTED', message, { details: { agentName: name } })
}

function spend({ budget }: Scene, from: string, to: string): void {
  if (budget.left-- > 0) return
  const message = `transfer from '${from}' to '${to}': the budget of this run is used up; do the agents hand over in circles?`
  throw new KernelError('TRANSFER_LIMIT', message, { details: { from, to } })
}
