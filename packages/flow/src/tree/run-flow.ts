import {
  type Additions,
  type AgentEvent,
  type AgentInput,
  isPromise,
  KernelError,
  pipe,
  type RunContext,
  type RunOptions,
  type Sink,
} from '@troupe/kernel'
import { openCalls } from '@troupe/kernel/history'
import { observe } from '@troupe/kernel/run'
import { FLOW_CONTEXT, type FlowContext } from '../flow-context.ts'
import type { ThreadLog } from '../thread-log.ts'
import { AgentRecorder } from './agent-recorder.ts'
import { isComposed, PARTS } from './composed.ts'
import type { FlowAgent } from './flow-agent.ts'
import { type FlowOutcome, type Resumption, type Suspended, throwIfCancelled } from './flow-outcome.ts'
import { historyFor } from './history-for.ts'
import { readSavedPosition, type SavedPosition } from './saved-position.ts'

/** Somebody's input to speak. */
export interface FlowInput {
  /** Its flowContext is the one of `FLOW_CONTEXT`. */
  readonly ctx: RunContext
  readonly flowContext: FlowContext
  readonly additions?: Additions | undefined
  readonly options?: RunOptions | undefined
  readonly resumption?: Resumption | undefined
}

/** Who speaks now, and what it goes on from. */
interface Position {
  readonly node: FlowAgent
  readonly saved: SavedPosition
  /** It goes on where it waited, and does not begin anew. */
  readonly continues: boolean
  /** All it was answered so far. */
  readonly answers?: Resumption['answers']
}

/**
 * Runs an agent and whomever it hands over to, until somebody has the last word.
 * Contract: a failure that was told is in `end`; what is thrown was not told.
 */
export async function runFlow(entry: FlowAgent, input: FlowInput, sink: Sink<AgentEvent>): Promise<FlowOutcome> {
  if (!entry.frozen) entry.root.freeze()
  const { ctx, flowContext } = input
  let position = begin(entry, input)
  for (;;) {
    const { node, saved } = position
    const before = flowContext.log.newMessages.length
    const { end, asked, action } = await runAgent(entry, position, input, sink)
    if (end && end.outcome !== 'complete' && end.outcome !== 'interrupted') return { end }
    if (asked || (!isComposed(node.agent) && openCalls(flowContext.log.messages).length > 0)) {
      return { end, suspended: suspendedAt(position, asked, flowContext.log.newMessages.length > before) }
    }
    if (action?.type !== 'transfer-to-agent') return { end, action }
    throwIfCancelled(ctx)
    const target = node.target(action.agentName)
    if (!node.returns) spend(flowContext, node.name, target.name)
    const { hop, path } = saved
    position = { node: target, saved: startOf(target, [...path, node.name], hop + 1), continues: false }
  }
}

/** Where a input begins: where it was suspended; with the agent whose calls it brings results for; else with the one it is for. */
function begin(entry: FlowAgent, { flowContext: { log }, resumption }: FlowInput): Position {
  if (resumption) {
    const saved = readSavedPosition(resumption.state)
    const answers = { ...saved.answers, ...resumption.answers }
    return { node: entry.at(saved), saved, continues: true, answers }
  }
  const { fresh: continues } = log
  const node = (continues && callerIn(entry, log)) || entry
  const path: string[] = []
  if (node !== entry) for (let above = node.parent; above; above = above.parent) path.unshift(above.name)
  return { node, saved: startOf(node, path, path.length), continues }
}

function callerIn(entry: FlowAgent, { messages }: ThreadLog): FlowAgent | undefined {
  if (messages.at(-1)?.role !== 'tool') return undefined
  const caller = messages.findLast(({ role }) => role === 'assistant')
  return caller?.role === 'assistant' && caller.agentName !== undefined ? entry.find(caller.agentName) : undefined
}

function startOf({ name }: FlowAgent, path: readonly string[], hop: number): SavedPosition {
  return { format: 1, agent: name, path, hop, asked: false }
}

/** Runs one agent by itself. */
async function runAgent(
  entry: FlowAgent,
  position: Position,
  input: FlowInput,
  sink: Sink<AgentEvent>,
): Promise<AgentRecorder> {
  const { node, saved, continues, answers } = position
  const { flowContext, options } = input
  const { hop, path, inner = null } = saved
  const ctx =
    hop === 0 ? input.ctx : input.ctx.derive({ step: `agent:${hop}`, runPath: [...input.ctx.runPath, ...path] })
  const agent = node.runnableAgent
  const composed = isComposed(agent)
  const { log } = flowContext
  const history = composed ? log.messages : historyFor(node, log.messages, ctx, continues)
  const additions = additionsFor(node, input.additions, node === entry)
  const agentInput: { -readonly [K in keyof AgentInput]: AgentInput[K] } = {
    messages: isPromise(history) ? await history : history,
  }
  if (additions) agentInput.additions = additions
  if (options) agentInput.options = options
  const start = answers && saved.asked ? { ...agentInput, state: inner, answers } : agentInput
  const recorder = new AgentRecorder(ctx, agent, sink, log, composed)
  const own = isComposed(agent) ? ctx.with(FLOW_CONTEXT, { ...flowContext, owner: agent[PARTS] }) : ctx
  await pipe(observe(agent, start, own), recorder)
  log.settle()
  return recorder
}

/** On a transfer the tools that a caller gave travel along, its instruction stays with the agent it was meant for. */
function additionsFor(
  { agent, additions: own }: FlowAgent,
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
  // A hook that asks while calls wait to run again leaves them waiting.
  const { interrupts = [], state: inner = saved.inner } = asked ?? {}
  // Who runs again from the start asks the same again; who goes on from what was said asks something else.
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
  return { interrupts, state }
}

function spend({ budget }: FlowContext, from: string, to: string): void {
  if (budget.left-- > 0) return
  const message = `transfer from '${from}' to '${to}': the budget of this run is used up; do the agents hand over in circles?`
  throw new KernelError('TRANSFER_LIMIT', message, { details: { from, to } })
}
