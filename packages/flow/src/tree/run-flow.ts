import {
  type Additions,
  type AgentEvent,
  type AgentInput,
  KernelError,
  NEXT_MESSAGES,
  type RunContext,
  type Sink,
} from '@troupe/kernel'
import { openCalls } from '@troupe/kernel/history'
import { isPromise, pipe } from '@troupe/kernel/kit'
import { keepInOrder, observe } from '@troupe/kernel/run'
import { FLOW_CONTEXT, type FlowContext, withThreadView } from '../flow-context.ts'
import type { ThreadLog } from '../thread-log.ts'
import { AgentRecorder } from './agent-recorder.ts'
import { type FlowNode, isComposed, PARTS } from './flow-node.ts'
import { type FlowOutcome, type Resumption, type Suspended, throwIfCancelled } from './flow-outcome.ts'
import { freezeTree } from './freeze-tree.ts'
import { historyFor } from './history-for.ts'
import { readSavedPosition, type SavedPosition } from './saved-position.ts'

/** The input of a flow, with `answers` if it goes on where it was suspended; its history is in the log of the flow context. */
type FlowInput = Omit<AgentInput, 'messages'> & Partial<Resumption>

/** The agent that runs now, and the state it starts from. */
interface Position {
  readonly node: FlowNode
  readonly saved: SavedPosition
  /** Whether it goes on where it was waiting instead of starting again. */
  readonly continues: boolean
  /** All answers so far. */
  readonly answers?: Resumption['answers']
}

/**
 * Runs an agent and the agents that it transfers to, until one of them ends without a transfer.
 * Contract: `ctx` has a flow context; a failure that an event has reported is in `end`, an error that is thrown has not been reported.
 */
export async function runFlow(
  entry: FlowNode,
  input: FlowInput,
  ctx: RunContext,
  sink: Sink<AgentEvent>,
): Promise<FlowOutcome> {
  if (!entry.frozen) freezeTree(entry)
  const flowContext = ctx.get(FLOW_CONTEXT) as FlowContext
  let position = begin(entry, input, flowContext.log)
  for (;;) {
    const { node, saved } = position
    const before = flowContext.log.newMessages.length
    const { end, asked, action } = await runAgent(position, node === entry, input, ctx, sink)
    if (end && end.outcome !== 'complete' && end.outcome !== 'interrupted') return { end }
    if (asked || (!isComposed(node.agent) && openCalls(flowContext.log.messages).length > 0)) {
      return { end, suspended: suspendedAt(position, asked, flowContext.log.newMessages.length > before) }
    }
    if (action?.type !== 'transfer-to-agent') return { end, action }
    throwIfCancelled(ctx)
    const target = node.target(action.agentName)
    if (!node.returns) spendTransfer(flowContext, node.name, target.name)
    const { hop, path } = saved
    position = { node: target, saved: startOf(target, [...path, node.name], hop + 1), continues: false }
  }
}

/** Finds the first agent: the suspended one; or the one whose calls get their results; otherwise `entry`. */
function begin(entry: FlowNode, { state, answers: given }: FlowInput, log: ThreadLog): Position {
  if (given) {
    const saved = readSavedPosition(state ?? null)
    const answers = { ...saved.answers, ...given }
    return { node: entry.at(saved), saved, continues: true, answers }
  }
  const { fresh: continues } = log
  const node = (continues && callerIn(entry, log)) || entry
  const path: string[] = []
  if (node !== entry) for (let above = node.parent; above; above = above.parent) path.unshift(above.name)
  return { node, saved: startOf(node, path, path.length), continues }
}

function callerIn(entry: FlowNode, { messages }: ThreadLog): FlowNode | undefined {
  if (messages.at(-1)?.role !== 'tool') return undefined
  const caller = messages.findLast(({ role }) => role === 'assistant')
  return caller?.role === 'assistant' && caller.agentName !== undefined ? entry.find(caller.agentName) : undefined
}

function startOf({ name }: FlowNode, path: readonly string[], hop: number): SavedPosition {
  return { format: 1, agent: name, path, hop, asked: false }
}

/** Runs one agent. */
async function runAgent(
  { node, saved, continues, answers }: Position,
  isEntry: boolean,
  input: FlowInput,
  outer: RunContext,
  sink: Sink<AgentEvent>,
): Promise<AgentRecorder> {
  const flowContext = outer.get(FLOW_CONTEXT) as FlowContext
  const { options } = input
  const { hop, path, inner = null } = saved
  const ctx = hop === 0 ? outer : outer.derive({ step: `agent:${hop}`, runPath: [...outer.runPath, ...path] })
  const agent = node.runnableAgent
  const composed = isComposed(agent)
  const { log } = flowContext
  const history = composed ? log.messages : historyFor(node, log.messages, ctx, continues)
  const additions = additionsFor(node, input.additions, isEntry)
  const agentInput: { -readonly [K in keyof AgentInput]: AgentInput[K] } = {
    messages: isPromise(history) ? await history : history,
  }
  if (additions) agentInput.additions = additions
  if (options) agentInput.options = options
  const start = answers && saved.asked ? { ...agentInput, state: inner, answers } : agentInput
  const recorder = new AgentRecorder(ctx, agent, sink, log, composed)
  // Which agent of a workflow comes first is not certain, so none of them takes messages of the run.
  const own = isComposed(agent)
    ? ctx.with(FLOW_CONTEXT, { ...flowContext, owner: agent[PARTS] }).with(NEXT_MESSAGES, undefined)
    : withThreadView(ctx, flowContext)
  // An agent that is not a flow may run a workflow; its messages are noted as they come.
  const release = composed ? undefined : keepInOrder(ctx, log)
  try {
    await pipe(observe(agent, start, own), recorder)
  } finally {
    release?.()
  }
  log.settle()
  return recorder
}

/** Joins the additions of the caller and of the tree: after a transfer the tools of the caller still apply, its instruction does not. */
function additionsFor(
  { agent, additions: own }: FlowNode,
  given: Additions | undefined,
  entry: boolean,
): Additions | undefined {
  if (!given || !agent.acceptsAdditions) return own
  const texts = [entry ? (given.instruction ?? '') : '', own?.instruction ?? '']
  const instruction = texts.filter((text) => text !== '').join('\n\n')
  return { instruction, tools: [...(own?.tools ?? []), ...(given.tools ?? [])] }
}

function suspendedAt(
  { node, saved, answers }: Position,
  asked: AgentRecorder['asked'],
  hasNewMessages: boolean,
): Suspended {
  const { format, agent, path, hop } = saved
  // If a hook asks while calls are waiting to run again, they keep waiting.
  const { interrupts = [], callIds, state: inner = saved.inner } = asked ?? {}
  // An agent that runs again from the start asks the same questions again; one that continues from its messages asks new ones.
  const again = answers && (!node.agent.resume || !hasNewMessages)
  const state: SavedPosition = {
    format,
    agent,
    path,
    hop,
    asked: asked !== undefined,
    ...(inner !== undefined && { inner }),
    ...(again && { answers }),
  }
  return { interrupts, ...(callIds && { callIds }), state }
}

function spendTransfer({ budget }: FlowContext, from: string, to: string): void {
  if (budget.left-- > 0) return
  const message = `transfer from '${from}' to '${to}': this run has used all of its transfers; check whether the agents transfer in circles, or raise limits.transfers`
  throw new KernelError('TRANSFER_LIMIT', message, { details: { from, to } })
}
