import type { ModelPart } from '../agent/model.ts'
import type { RunContext } from '../context/context.ts'
import type { State } from '../context/state.ts'
import { canonical } from '../data/canonical.ts'
import type { AgentEvent } from '../data/event.ts'
import type { StateChanges } from './noted-state.ts'
import { ShownState } from './shown-state.ts'

/** An answer that readers have seen the beginning of. */
interface ShownAnswer {
  readonly messageId: string
  /** The agent that gave it. */
  readonly by: string
  readonly parts: ModelPart[]
}

/**
 * What readers have seen of a run that broke off.
 * Contract: deltas are known by their length, messages, calls, runs and questions by their id, everything else by its content and count,
 * so that the order between parallel branches may differ.
 */
export class ShownEvents {
  readonly #seen: Map<string, number> = new Map()
  readonly #now: Map<string, number> = new Map()
  readonly #answers: ShownAnswer[] = []
  readonly #begun: Set<string> = new Set()
  readonly #state: ShownState = new ShownState()

  constructor(events: Iterable<AgentEvent>) {
    for (const event of events) {
      count(this.#seen, keyOf(event), sizeOf(event))
      this.#note(event)
    }
  }

  /** The part of an event that readers have not seen; undefined if they have seen all of it. */
  unseen(event: AgentEvent): AgentEvent | undefined {
    if (event.type === 'state-delta') return this.#state.unseen(event)
    if (event.type === 'message-start') this.#begun.add(event.messageId)
    const key = keyOf(event)
    const size = sizeOf(event)
    const left = (this.#seen.get(key) ?? 0) - (count(this.#now, key, size) - size)
    if (left >= size) return undefined
    return left > 0 && 'delta' in event && typeof event.delta === 'string'
      ? ({ ...event, delta: event.delta.slice(left) } as AgentEvent)
      : event
  }

  /** What readers have seen of the answers that an agent has begun and this attempt has not, with `restart` between them. */
  partsOf(ctx: RunContext): readonly ModelPart[] {
    const by = authorOf(ctx)
    const parts: ModelPart[] = []
    for (const answer of this.#answers) {
      if (answer.by !== by || this.#begun.has(answer.messageId) || answer.parts.length === 0) continue
      if (parts.length > 0) parts.push({ type: 'restart' })
      parts.push(...answer.parts)
    }
    return parts
  }

  /** How a state differs from what readers know of it. */
  unseenChanges(state: State): StateChanges {
    return this.#state.changes(state)
  }

  #note(event: AgentEvent): void {
    const { runId } = event
    const by = authorOf(event)
    const last = () => this.#answers.findLast((answer) => answer.by === by)
    switch (event.type) {
      case 'state-delta':
        this.#state.see(event)
        return
      case 'message-start':
        this.#answers.push({ messageId: event.messageId, by, parts: [] })
        return
      case 'text-delta':
      case 'reasoning-delta':
        last()?.parts.push({ type: event.type, delta: event.delta })
        return
      case 'tool-call-start':
        last()?.parts.push({ type: event.type, callId: playable(event.callId, runId), name: event.name })
        return
      case 'tool-call-delta':
        last()?.parts.push({ type: event.type, callId: playable(event.callId, runId), delta: event.delta })
        return
      case 'tool-call-end':
        last()?.parts.push({ type: event.type, callId: playable(event.call.id, runId) })
        return
    }
  }
}

function authorOf({ runId, agentName, runPath }: Pick<AgentEvent, 'runId' | 'agentName' | 'runPath'>): string {
  return JSON.stringify([runId, agentName, runPath])
}

/** An id that the kernel made is left empty, so that the kernel makes the same one again. */
function playable(callId: string, runId: string): string {
  return callId.startsWith(`${runId}/`) ? '' : callId
}

function count(counts: Map<string, number>, key: string, size: number): number {
  const total = (counts.get(key) ?? 0) + size
  counts.set(key, total)
  return total
}

/** A delta counts by its length, every other event once. */
function sizeOf(event: AgentEvent): number {
  return 'delta' in event && typeof event.delta === 'string' ? event.delta.length : 1
}

/** Contract: a call is known by its run too, because a provider may give the same id in several nested runs. */
function keyOf(event: AgentEvent): string {
  const { type, runId } = event
  switch (type) {
    case 'message-start':
    case 'text-delta':
    case 'reasoning-delta':
      return `${type} ${event.messageId}`
    // A process that lost its lease has cut off its answer and its calls for its readers; the run ends them again.
    case 'message-end':
      return `${type} ${event.message.id} ${event.message.partial === true}`
    case 'tool-end':
      return `${type} ${runId} ${event.callId} ${event.status} ${event.error?.code}`
    case 'tool-call-end':
      return `${type} ${runId} ${event.call.id}`
    case 'tool-call-start':
    case 'tool-call-delta':
    case 'tool-start':
      return `${type} ${runId} ${event.callId}`
    case 'tool-delta':
      return `${type} ${runId} ${event.callId} ${typeof event.delta}`
    case 'run-start':
      return `${type} ${runId}`
    // A run whose end could not be stored has failed for its readers, and ends again when it is continued.
    case 'run-end':
      return `${type} ${runId} ${event.outcome}`
    case 'agent-end':
      return `${type} ${authorOf(event)} ${event.outcome}`
    case 'action':
      if (event.action.type !== 'interrupt') break
      // Runs beside each other ask in any order.
      return `${type} ${authorOf(event)} ${event.action.interrupts.map(({ id }) => id).sort()}`
  }
  return canonical(event)
}
