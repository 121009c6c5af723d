import type { AgentEvent, ErrorInfo, EventOf, RunAttempt, RunRecord, ThreadRef, Usage } from '@troupe/kernel'
import { addUsage, NO_USAGE } from '@troupe/kernel/kit'
import { RunCalls } from './run-calls.ts'
import { RunText } from './run-text.ts'

/** The identity of a run. */
export interface RunIdentity {
  readonly ref: ThreadRef
  readonly runId: string
  readonly agentName: string
  readonly parentRunId?: string
  /** The id of the message that it answers. */
  readonly requestId?: string
  /** The number of this attempt to carry it out, if it can be continued. */
  readonly attempt?: number
}

/** The state of a run until its record is closed. */
export class RecordedRun implements RunIdentity {
  readonly ref: ThreadRef
  readonly runId: string
  readonly agentName: string
  readonly parentRunId?: string
  requestId?: string
  readonly parent: RecordedRun | undefined
  readonly attempt?: number
  /** The attempt at its root run that writes its records. */
  readonly by: RunAttempt | undefined
  readonly startedAt: number
  readonly text: RunText = new RunText()
  /** The total that its end reports, which includes the runs inside steps that were done before its process died. */
  total: Usage = NO_USAGE
  status: RunRecord['status'] = 'generating'
  error: ErrorInfo | undefined
  endedAt: number | undefined
  /** Its last event, which has the outcome even if a span fails after it. */
  lastEvent: EventOf<'run-end'> | undefined

  /** Ids of messages whose tokens are counted. */
  readonly counted: Set<string> = new Set()
  /** By message id: messages that ended while a model call was open, which may count their tokens. */
  readonly unclaimed: Map<string, EventOf<'message-end'>> = new Map()
  openModels = 0

  readonly calls: RunCalls = new RunCalls()
  /** Called with every event except text, if a tool lifecycle records the calls. */
  onPart: ((run: RecordedRun, event: AgentEvent) => void) | undefined

  /** The usage that was seen in this process. */
  #seen: Usage = NO_USAGE
  seq: number | undefined
  /** Its text is queued. */
  queued = false
  /** The store refused its record: nothing more of it is written. */
  refused = false
  /** A write of it timed out and may still happen. */
  suspect = false
  reported = false

  constructor(identity: RunIdentity, parent: RecordedRun | undefined, startedAt: number) {
    const { ref, runId, agentName, parentRunId, requestId, attempt } = identity
    this.ref = ref
    this.runId = runId
    this.agentName = agentName
    if (parentRunId !== undefined) this.parentRunId = parentRunId
    if (requestId !== undefined) this.requestId = requestId
    if (attempt !== undefined) this.attempt = attempt
    this.parent = parent
    this.by = parent ? parent.by : attempt === undefined ? undefined : { runId, attempt }
    this.startedAt = startedAt
  }

  /** Includes the usage of nested runs. */
  get usage(): Usage {
    return larger(this.#seen, this.total)
  }

  addUsage(usage: Usage): void {
    this.#seen = addUsage(this.#seen, usage)
  }
}

/** The larger count of each kind. */
function larger(one: Usage, other: Usage): Usage {
  const usage: { -readonly [K in keyof Usage]: Usage[K] } = {
    inputTokens: Math.max(one.inputTokens, other.inputTokens),
    outputTokens: Math.max(one.outputTokens, other.outputTokens),
  }
  for (const name of OPTIONAL) {
    const count = one[name] ?? other[name]
    if (count !== undefined) usage[name] = Math.max(count, other[name] ?? 0)
  }
  return usage
}

const OPTIONAL = ['reasoningTokens', 'cachedInputTokens', 'cacheWriteTokens', 'cost'] as const
