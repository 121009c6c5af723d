import {
  type AgentEvent,
  addUsage,
  type ErrorInfo,
  type Message,
  type ModelCallRecord,
  NO_USAGE,
  type Outcome,
  type ThreadRef,
  type ToolCallRecord,
  type Usage,
} from '@troupe/kernel'
import type { Lane } from '../write/lane.ts'
import { RunText } from './run-text.ts'

/** What a run is known by. */
export interface RunIdentity {
  readonly ref: ThreadRef
  readonly runId: string
  readonly agentName: string
  readonly parentRunId?: string
  /** The message that it answers. */
  readonly requestId?: string
}

/** A model call of a run, as it is told. */
export type ModelCall = Omit<ModelCallRecord, 'runId' | 'requestId'> & { readonly messageId: string }

/** How a run ended. */
export interface Ending {
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

/** What was last written of a call. */
export interface KnownRow {
  readonly startedAt: number
  readonly status: ToolCallRecord['status']
  /** It has its result. */
  readonly settled: boolean
}

/** Everything that is remembered of a run until its record is closed. */
export class RecordedRun implements RunIdentity {
  readonly ref: ThreadRef
  readonly runId: string
  readonly agentName: string
  readonly parentRunId?: string
  readonly requestId?: string
  readonly parent: RecordedRun | undefined
  readonly startedAt: number
  readonly text: RunText = new RunText()
  /** With that of the runs nested in it. */
  usage: Usage = NO_USAGE
  ending: Ending | undefined
  endedAt: number | undefined

  /** Ids of messages whose tokens are counted. */
  readonly counted: Set<string> = new Set()
  /** By message id: what messages say of model calls that are still open. */
  readonly unclaimed: Map<string, ModelCall> = new Map()
  openModels = 0

  /** Hears every event but text, where somebody keeps the calls too. */
  onPart: ((run: RecordedRun, event: AgentEvent) => void) | undefined
  /** In front of the ids of its calls, where it stands inside a call itself. */
  callPrefix = ''
  readonly known: Map<string, KnownCall> = new Map()
  /** Calls with a row of this run, by what they are now. */
  readonly calls: Map<string, KnownRow> = new Map()
  readonly longRunning: Set<string> = new Set()
  /** Results that came for calls of earlier runs. */
  answers: Map<string, Message & { readonly role: 'tool' }> | undefined
  history: readonly Message[] = []

  /** Where it is written. */
  lane: Lane | undefined
  seq: number | undefined
  /** Its text is in line to be written. */
  queued = false
  /** The store did not take its record: nothing more of it is written. */
  refused = false
  /** An attempt to write it was given up and may still happen. */
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

/** Tells a nested run where it stands, for the ids of its calls: two runs may use one id. Contract: heard before any call of the run. */
export function learnPlace(
  run: RecordedRun,
  { parentCallId, runId }: AgentEvent,
  parentSpanId: string | undefined,
): void {
  if (parentCallId === undefined) return
  // A second run inside the same call has a number behind its id.
  const number = parentSpanId !== undefined && runId.startsWith(parentSpanId) ? runId.slice(parentSpanId.length) : ''
  run.callPrefix = `${run.parent?.callPrefix ?? ''}${parentCallId}${number}/`
}
