import type {
  AgentEvent,
  ErrorInfo,
  Message,
  ModelCallRecord,
  Outcome,
  ThreadRef,
  ToolCallRecord,
  Usage,
} from '@troupe/kernel'
import { addUsage, NO_USAGE } from '@troupe/kernel/kit'
import type { Lane } from '../write/lane.ts'
import { RunText } from './run-text.ts'

/** The identity of a run. */
export interface RunIdentity {
  readonly ref: ThreadRef
  readonly runId: string
  readonly agentName: string
  readonly parentRunId?: string
  /** The id of the message that it answers. */
  readonly requestId?: string
}

/** A model call of a run. */
export type ModelCall = Omit<ModelCallRecord, 'runId' | 'requestId'> & { readonly messageId: string }

/** The outcome of a recorded run. */
export interface RecordedOutcome {
  readonly outcome: Outcome
  /** The answer, if it is complete. */
  readonly text?: string
  readonly error?: ErrorInfo
}

/** A tool call of a run, as far as it is known. */
export interface KnownCall {
  readonly messageId: string
  readonly name: string
  readonly arguments: string
}

/** The last written state of a call. */
export interface KnownRow {
  readonly startedAt: number
  readonly status: ToolCallRecord['status']
  /** It has its result. */
  readonly settled: boolean
}

/** The state of a run until its record is closed. */
export class RecordedRun implements RunIdentity {
  readonly ref: ThreadRef
  readonly runId: string
  readonly agentName: string
  readonly parentRunId?: string
  readonly requestId?: string
  readonly parent: RecordedRun | undefined
  readonly startedAt: number
  readonly text: RunText = new RunText()
  /** Includes the usage of nested runs. */
  usage: Usage = NO_USAGE
  end: RecordedOutcome | undefined
  endedAt: number | undefined

  /** Ids of messages whose tokens are counted. */
  readonly counted: Set<string> = new Set()
  /** By message id: usage from messages whose model call is still open. */
  readonly unclaimed: Map<string, ModelCall> = new Map()
  openModels = 0

  /** Called with every event except text, if a tool lifecycle records the calls. */
  onPart: ((run: RecordedRun, event: AgentEvent) => void) | undefined
  /** The prefix of its call ids, if the run is nested in a call. */
  callPrefix = ''
  readonly known: Map<string, KnownCall> = new Map()
  /** By call id: the last written state of the calls with a row in this run. */
  readonly calls: Map<string, KnownRow> = new Map()
  readonly longRunning: Set<string> = new Set()
  /** Results for calls of earlier runs. */
  answers: Map<string, Message & { readonly role: 'tool' }> | undefined
  history: readonly Message[] = []

  /** The lane that writes it. */
  lane: Lane | undefined
  seq: number | undefined
  /** Its text is queued. */
  queued = false
  /** The store refused its record: nothing more of it is written. */
  refused = false
  /** A write of it timed out and may still happen. */
  suspect = false
  reported = false

  constructor(identity: RunIdentity, parent: RecordedRun | undefined, startedAt: number) {
    const { ref, runId, agentName, parentRunId, requestId } = identity
    this.ref = ref
    this.runId = runId
    this.agentName = agentName
    if (parentRunId !== undefined) this.parentRunId = parentRunId
    if (requestId !== undefined) this.requestId = requestId
    this.parent = parent
    this.startedAt = startedAt
  }

  addUsage(usage: Usage): void {
    this.usage = addUsage(this.usage, usage)
  }
}

/** Sets the call id prefix of a nested run, because two runs may use the same call id. Contract: called before any call of the run. */
export function setCallPrefix(
  run: RecordedRun,
  { parentCallId, runId }: AgentEvent,
  parentSpanId: string | undefined,
): void {
  if (parentCallId === undefined) return
  // A second run inside the same call has a number behind its id.
  const number = parentSpanId !== undefined && runId.startsWith(parentSpanId) ? runId.slice(parentSpanId.length) : ''
  run.callPrefix = `${run.parent?.callPrefix ?? ''}${parentCallId}${number}/`
}
