import { EventType } from '@ag-ui/core'
import type { EventOf } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { askedOf } from './outcome.ts'
import type { PublicError } from './run-error.ts'
import { copyOf } from './shared-state.ts'
import type { ShownMessage } from './shown-message.ts'
import { tagged } from './tag.ts'

/** One kernel run as the client sees it: the run itself, or a nested one, which is a sub-agent there. */
export class RunView {
  readonly runId: string
  /** The tag of a sub-agent's events. */
  readonly owner: string | undefined
  /** The prefix of its call ids, which are unique only within their run. */
  readonly prefix: string
  /** By the kernel's message id. */
  readonly messages: Map<string, ShownMessage> = new Map()
  ended = false
  readonly #steps: { readonly key: string; readonly name: string }[] = []

  constructor(runId: string, owner?: string, prefix = '') {
    this.runId = runId
    this.owner = owner
    this.prefix = prefix
  }

  /** Makes the view of a run nested in a call of this one. Contract: call ids follow the kernel's naming of nested origins. */
  nested(runId: string, callId: string): RunView {
    const [number = ''] = /\.\d+$/.exec(runId) ?? []
    return new RunView(runId, runId, `${this.prefix}${callId}${number}/`)
  }

  /** Contract: two agents of one name may run at once, so their steps get distinct names. */
  beginStep(event: EventOf<'agent-start'>, out: AgUiEvent[]): void {
    const taken = new Set(this.#steps.map(({ name }) => name))
    let name = event.agentName
    for (let n = 2; taken.has(name); n++) name = `${event.agentName}#${n}`
    this.#steps.push({ key: keyOf(event), name })
    out.push(tagged({ type: EventType.STEP_STARTED, stepName: name }, this.owner))
  }

  endStep(event: EventOf<'agent-end'>, out: AgUiEvent[]): void {
    const key = keyOf(event)
    const index = this.#steps.findLastIndex((step) => step.key === key)
    const [step] = index < 0 ? [] : this.#steps.splice(index, 1)
    if (step) out.push(tagged({ type: EventType.STEP_FINISHED, stepName: step.name }, this.owner))
  }

  /** Ends a sub-agent. */
  end(event: EventOf<'run-end'>, toPublic: (error: { code: string; message: string }) => PublicError): AgUiEvent {
    this.ended = true
    const { outcome, interrupts, openCallIds, output } = event
    const subagentRunId = this.runId
    if (outcome === 'failed' || outcome === 'cancelled') {
      const { code, message } = toPublic(event.error ?? { code: 'ABORTED', message: '' })
      return { type: EventType.SUBAGENT_ERROR, subagentRunId, message, code }
    }
    if (outcome === 'interrupted' || openCallIds) {
      const interruptIds = askedOf(interrupts).map(({ id }) => id)
      const asked = interruptIds.length > 0 && { interruptIds }
      return { type: EventType.SUBAGENT_FINISHED, subagentRunId, outcome: { type: 'suspended', ...asked } }
    }
    const result = output === undefined ? undefined : copyOf(output)
    return {
      type: EventType.SUBAGENT_FINISHED,
      subagentRunId,
      outcome: { type: 'success' },
      ...(result !== undefined && { result }),
    }
  }
}

function keyOf({ agentName, runPath }: EventOf<'agent-start'> | EventOf<'agent-end'>): string {
  return [...runPath, agentName].join('\0')
}
