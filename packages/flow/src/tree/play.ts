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
import { SCENE, type Scene, type SessionLog } from '../session.ts'
import { isComposed, PARTS } from './composed.ts'
import { type Ending, Listener, type Resumption, type Suspended, throwIfCancelled } from './ending.ts'
import type { FlowAgent } from './flow-agent.ts'
import { historyFor } from './history-for.ts'
import { type Position, readPosition } from './position.ts'

/** Somebody's turn to speak. */
export interface Turn {
  /** Its scene is the one of `SCENE`. */
  readonly ctx: RunContext
  readonly scene: Scene
  readonly additions?: Additions | undefined
  readonly options?: RunOptions | undefined
  readonly resumption?: Resumption | undefined
}

/** Who speaks now, and what it goes on from. */
interface Standing {
  readonly node: FlowAgent
  readonly position: Position
  /** It goes on where it waited, and does not begin anew. */
  readonly continues: boolean
  /** All it was answered so far. */
  readonly answers?: Resumption['answers']
}

/**
 * Runs an agent and whomever it hands over to, until somebody has the last word.
 * Contract: a failure that was told is in `end`; what is thrown was not told.
 */
export async function play(entry: FlowAgent, turn: Turn, sink: Sink<AgentEvent>): Promise<Ending> {
  if (!entry.frozen) entry.root.freeze()
  const { ctx, scene } = turn
  let standing = begin(entry, turn)
  for (;;) {
    const { node, position } = standing
    const before = scene.session.said.length
    const { end, asked, action } = await speak(entry, standing, turn, sink)
    if (end && end.outcome !== 'complete' && end.outcome !== 'interrupted') return { end }
    if (asked || (!isComposed(node.agent) && openCalls(scene.session.messages).length > 0)) {
      return { end, suspended: suspendedAt(standing, asked, scene.session.said.length > before) }
    }
    if (action?.type !== 'transfer-to-agent') return { end, action }
    throwIfCancelled(ctx)
    const target = node.target(action.agentName)
    if (!node.returns) spend(scene, node.name, target.name)
    const { hop, path } = position
    standing = { node: target, position: placeOf(target, [...path, node.name], hop + 1), continues: false }
  }
}

/** Where a turn begins: where it was suspended; with the agent whose calls it brings results for; else with the one it is for. */
function begin(entry: FlowAgent, { scene: { session }, resumption }: Turn): Standing {
  if (resumption) {
    const position = readPosition(resumption.state)
    const answers = { ...position.answers, ...resumption.answers }
    return { node: entry.at(position), position, continues: true, answers }
  }
  const { fresh: continues } = session
  const node = (continues && askerIn(entry, session)) || entry
  const path: string[] = []
  if (node !== entry) for (let above = node.parent; above; above = above.parent) path.unshift(above.name)
  return { node, position: placeOf(node, path, path.length), continues }
}

function askerIn(entry: FlowAgent, { messages }: SessionLog): FlowAgent | undefined {
  if (messages.at(-1)?.role !== 'tool') return undefined
  const asker = messages.findLast(({ role }) => role === 'assistant')
  return asker?.role === 'assistant' && asker.agentName !== undefined ? entry.find(asker.agentName) : undefined
}

function placeOf({ name }: FlowAgent, path: readonly string[], hop: number): Position {
  return { format: 1, agent: name, path, hop, asked: false }
}

/** Runs one agent by itself. */
async function speak(entry: FlowAgent, standing: Standing, turn: Turn, sink: Sink<AgentEvent>): Promise<Listener> {
  const { node, position, continues, answers } = standing
  const { scene, options } = turn
  const { hop, path, inner = null } = position
  const ctx = hop === 0 ? turn.ctx : turn.ctx.derive({ step: `agent:${hop}`, runPath: [...turn.ctx.runPath, ...path] })
  const agent = node.speaker
  const composed = isComposed(agent)
  const { session } = scene
  const history = composed ? session.messages : historyFor(node, session.messages, ctx, continues)
  const additions = additionsFor(node, turn.additions, node === entry)
  const input: { -readonly [K in keyof AgentInput]: AgentInput[K] } = {
    messages: isPromise(history) ? await history : history,
  }
  if (additions) input.additions = additions
  if (options) input.options = options
  const start = answers && position.asked ? { ...input, state: inner, answers } : input
  const listener = new Listener(ctx, agent, sink, session, composed)
  const place = isComposed(agent) ? ctx.with(SCENE, { ...scene, player: agent[PARTS] }) : ctx
  await pipe(observe(agent, start, place), listener)
  session.settle()
  return listener
}

/** On a transfer the tools that a caller gave travel along, its instruction stays with the agent it was meant for. */
function additionsFor(
  { agent, additions: own }: FlowAgent,
  given: Additions | undefined,
  entry: boolean,
): Additions | undefined {
  if (!given || !agent.acceptsAdditions) return own
  const words = [entry ? (given.instruction ?? '') : '', own?.instruction ?? '']
  const instruction = words.filter((text) => text !== '').join('\n\n')
  return { instruction, tools: [...(own?.tools ?? []), ...(given.tools ?? [])] }
}

function suspendedAt({ node, position, answers }: Standing, asked: Listener['asked'], hasSpoken: boolean): Suspended {
  const { format, agent, path, hop } = position
  // A hook that asks while calls wait to run again leaves them waiting.
  const { interrupts = [], state: inner = position.inner } = asked ?? {}
  // Who runs again from the start asks the same again; who goes on from what was said asks something else.
  const again = answers && (!node.agent.resume || !hasSpoken)
  const state: Position = {
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

function spend({ budget }: Scene, from: string, to: string): void {
  if (budget.left-- > 0) return
  const message = `transfer from '${from}' to '${to}': the budget of this run is used up; do the agents hand over in circles?`
  throw new KernelError('TRANSFER_LIMIT', message, { details: { from, to } })
}
