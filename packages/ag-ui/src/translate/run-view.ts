import { EventType } from '@ag-ui/core'
import type { ErrorInfo, EventOf } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { askedOf } from './outcome-of.ts'
import type { PublicError } from './run-error.ts'
import { copyOf } from './shared-state.ts'
import type { ShownMessage } from './shown-message.ts'
import { tagged } from './tagged.ts'

/** One kernel run as the client sees it: the run itself, or a nested one, which is a sub-agent there. */
export class RunView {
  readonly runId: string
  /** The tag of a sub-agent's events. */
  readonly owner: string | undefined
  /** The prefix of its call ids, which are unique only within their run: its origin. */
  readonly prefix: string
  /** By the kernel's message id. */
  readonly messages: Map<string, ShownMessage> = new Map()
  /** By the kernel's id: messages whose text is shown when they have ended, unless it is structured output. */
  readonly withheld: Set<string> = new Set()
  ended = false
  readonly #steps: { readonly key: string; readonly name: string }[] = []

  constructor(runId: string, owner?: string, prefix = '') {
    this.runId = runId
    this.owner = owner
    this.prefix = prefix
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

  /** Ends a sub-agent as its run ended. */
  end(event: EventOf<'run-end'>, toPublic: (error: ErrorInfo) => PublicError, out: AgUiEvent[]): void {
    const end = endOf(event, this.runId, toPublic)
    this.ended = true
    this.#endSteps(out)
    out.push(end)
  }

  /** Ends what the end of the run finds open: its steps, and a sub-agent whose run has not ended. */
  breakOff(terminal: AgUiEvent, out: AgUiEvent[]): void {
    this.#endSteps(out)
    if (this.owner === undefined || this.ended) return
    this.ended = true
    out.push(brokenSubagent(this.owner, terminal))
  }

  #endSteps(out: AgUiEvent[]): void {
    for (const { name } of this.#steps.splice(0).reverse()) {
      out.push(tagged({ type: EventType.STEP_FINISHED, stepName: name }, this.owner))
    }
  }
}

function endOf(
  event: EventOf<'run-end'>,
  subagentRunId: string,
  toPublic: (error: ErrorInfo) => PublicError,
): AgUiEvent {
  const { outcome, interrupts, openCallIds, output } = event
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

/** The end of a sub-agent that is open when its run ends. */
export function brokenSubagent(subagentRunId: string, terminal: AgUiEvent): AgUiEvent {
  const outcome = terminal.type === EventType.RUN_FINISHED ? terminal.outcome : undefined
  if (outcome?.type === 'interrupt') {
    return { type: EventType.SUBAGENT_FINISHED, subagentRunId, outcome: { type: 'suspended' } }
  }
  if (terminal.type === EventType.RUN_FINISHED && outcome?.type !== 'cancelled') {
    return { type: EventType.SUBAGENT_FINISHED, subagentRunId }
  }
  const code = outcome ? 'ABORTED' : 'AGENT_ERROR'
  return { type: EventType.SUBAGENT_ERROR, subagentRunId, message: 'The run ended before the sub-agent.', code }
}

function keyOf({ agentName, runPath }: EventOf<'agent-start'> | EventOf<'agent-end'>): string {
  return [...runPath, agentName].join('\0')
}
