import {
  type Answers,
  type Checkpoint,
  type Interrupt,
  type Json,
  type JsonObject,
  KernelError,
  type Message,
  type Thread,
} from '@troupe/kernel'
import { got, notJson, validate } from '@troupe/kernel/kit'
import { type FlowNode, isComposed, PARTS } from '../tree/flow-node.ts'
import type { Resumption, Suspended } from '../tree/flow-outcome.ts'
import { readSavedPosition } from '../tree/saved-position.ts'
import { validateJsonSchema } from './validate-json-schema.ts'

const FORMAT = 1

/** The stored state of a suspension. */
type Stored = {
  readonly place: Json
  /** For each public question id the id that the agent knows. */
  readonly questions: { readonly [interruptId: string]: string }
  /** The state that lives until the questions are answered and the agents have ended: `temp:` keys. */
  readonly temp?: JsonObject
  /** How many transfers are left. */
  readonly transfers?: number
  /** What the callbacks have kept. */
  readonly callbacks?: JsonObject
  /** Calls that run again with their agents and do not ask themselves. */
  readonly callIds?: readonly string[]
}

/** What a suspended run keeps besides its position. */
export type KeptValues = Pick<Stored, 'temp' | 'transfers' | 'callbacks'>

/**
 * Makes a checkpoint whose questions have the ids that clients see.
 * Contract: a question outside a call has the same id in every run that asks it, so its id is prefixed with the id of the run that first asked it; a late
 * answer can therefore never match a later question.
 */
export function makeCheckpoint(
  agentName: string,
  runId: string,
  { interrupts, callIds, state }: Suspended,
  former: Checkpoint | undefined,
  kept: KeptValues,
): Checkpoint {
  const known = Object.entries((former?.state as Stored | undefined)?.questions ?? {})
  const questions: Record<string, string> = {}
  const shown = interrupts.map((interrupt) => {
    const id =
      interrupt.callId === undefined
        ? (known.find(([, inner]) => inner === interrupt.id)?.[0] ?? `${runId}/${interrupt.id}`)
        : interrupt.id
    questions[id] = interrupt.id
    return { ...interrupt, id }
  })
  const again = callIds && { callIds }
  return { format: FORMAT, runId, agentName, interrupts: shown, state: { place: state, questions, ...again, ...kept } }
}

/** A checkpoint with the messages that wait for its answers. */
export function withWaiting({ next: _, ...checkpoint }: Checkpoint, next: readonly Message[]): Checkpoint {
  return next.length === 0 ? checkpoint : { ...checkpoint, next }
}

/** The calls of a suspended run that await no result from outside: they run again when its questions are answered. */
export function callsRunAgain({ interrupts, state }: Checkpoint): ReadonlySet<string> {
  const { callIds = [] } = state as Stored
  return new Set([...interrupts.flatMap(({ callId }) => callId ?? []), ...callIds])
}

/** The calls of a thread that await a result or an answer, as far as its checkpoint can be read. */
export function awaitedCalls({ openCalls, checkpoint }: Pick<Thread, 'openCalls' | 'checkpoint'>): readonly string[] {
  const { callIds } = (checkpoint?.state ?? {}) as Partial<Stored>
  const asked = openQuestions({ ...(checkpoint && { checkpoint }) }).flatMap(({ callId }) => callId ?? [])
  return [...openCalls.map(({ callId }) => callId), ...asked, ...(Array.isArray(callIds) ? callIds : [])]
}

/** What a suspended run has kept besides its position. */
export function keptValues(checkpoint: Checkpoint | undefined): KeptValues {
  const { temp, transfers, callbacks } = (checkpoint?.state ?? {}) as Partial<Stored>
  return { ...(temp && { temp }), ...(transfers !== undefined && { transfers }), ...(callbacks && { callbacks }) }
}

/** Makes the resumption of a suspended run, with the question ids that its agents know. */
export function resumptionOf({ state }: Checkpoint, answers: Answers = {}): Resumption {
  const { place, questions } = state as Stored
  return {
    state: place,
    answers: Object.fromEntries(Object.entries(answers).map(([id, answer]) => [questions[id] ?? id, answer])),
  }
}

/** The id of a run that took the answers of this thread and never ended; its effects are unknown. */
export function unfinishedRun({ checkpoint }: Pick<Thread, 'checkpoint'>): string | undefined {
  return checkpoint?.resumedBy
}

/** The open questions of a thread, as far as its checkpoint can be read. */
export function openQuestions({ checkpoint }: Pick<Thread, 'checkpoint'>): readonly Interrupt[] {
  const interrupts: unknown = checkpoint?.interrupts
  return Array.isArray(interrupts) ? interrupts.filter((interrupt) => typeof interrupt?.id === 'string') : []
}

/** Reads the checkpoint of a thread. Contract: throws `CHECKPOINT_INVALID` if it is broken, belongs to another agent, or no longer fits the tree. */
export function readCheckpoint(agent: FlowNode, { checkpoint }: Pick<Thread, 'checkpoint'>): Checkpoint | undefined {
  if (checkpoint === undefined) return undefined
  const found: Partial<Checkpoint> | null = checkpoint
  const wrong = (what: string) =>
    new KernelError('CHECKPOINT_INVALID', `checkpoint of ${agent.name}: ${what}; drop it with pending: 'drop'`)
  if (found?.format !== FORMAT) throw wrong(`expected format ${FORMAT}, ${got(found?.format)}`)
  if (found.agentName !== agent.name) throw wrong(`it belongs to another agent, ${got(found.agentName)}`)
  if (found.next !== undefined && !Array.isArray(found.next)) throw wrong('its messages are malformed')
  if (!Array.isArray(found.interrupts) || !found.interrupts.every(isInterrupt))
    throw wrong('its interrupts are malformed')
  const {
    place,
    questions,
    temp = {},
    transfers = 0,
    callbacks = {},
    callIds = [],
  } = (found.state ?? {}) as Partial<Stored>
  const ids = isRecord(questions) ? Object.values(questions) : [undefined]
  if (!ids.every((id) => typeof id === 'string')) throw wrong('its questions are malformed')
  if (!isRecord(temp) || !isRecord(callbacks) || !Number.isInteger(transfers) || !Array.isArray(callIds))
    throw wrong('what it keeps is malformed')
  try {
    checkSavedPosition(agent, place ?? null)
  } catch (error) {
    throw wrong(KernelError.from(error).message)
  }
  return checkpoint
}

function isInterrupt(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { id, reason, agentName, responseSchema = {} } = value
  return [id, reason, agentName].every((text) => typeof text === 'string') && isRecord(responseSchema)
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Checks answers. Contract: throws `INTERRUPT_UNKNOWN`, `INTERRUPT_EXPIRED` or `VALIDATION_FAILED` before anything changes. */
export async function checkAnswers(
  answers: Answers,
  open: readonly Interrupt[],
  now: number,
  closed: readonly string[] = [],
): Promise<void> {
  const entries: readonly [string, Json][] = Object.entries(answers ?? {})
  if (entries.length === 0)
    throw new KernelError('VALIDATION_FAILED', 'resume: expected answers by interrupt id, got none')
  for (const [id, answer] of entries) {
    const interrupt = open.find((candidate) => candidate.id === id)
    if (!interrupt) {
      const ids = open.map((candidate) => candidate.id)
      const known = ids.length > 0 ? `open questions are ${ids.join(', ')}` : 'this thread has no open questions'
      const message = `resume: ${known}, ${got(id)}`
      throw new KernelError('INTERRUPT_UNKNOWN', message, { details: { open: ids } })
    }
    if (!closed.includes(id)) await checkAnswer(interrupt, answer, now)
  }
}

async function checkAnswer({ id, expiresAt, responseSchema }: Interrupt, answer: Json, now: number): Promise<void> {
  if (expiresAt !== undefined && expiresAt <= now) {
    throw new KernelError('INTERRUPT_EXPIRED', `resume: question ${id} has expired`, { details: { id, expiresAt } })
  }
  const broken = notJson(answer)
  if (broken !== undefined) {
    throw new KernelError(
      'VALIDATION_FAILED',
      `resume: the answer to ${id} is not plain JSON at ${broken || 'its root'}`,
    )
  }
  try {
    if (responseSchema) await validate(responseSchema, answer, validateJsonSchema)
  } catch (cause) {
    const { code, message, details } = KernelError.from(cause, 'VALIDATION_FAILED')
    throw new KernelError(code, `resume: the answer to ${id} does not match its schema, ${message}`, {
      cause,
      details: { ...details, id },
    })
  }
}

/** Checks that the tree still has the agents of a position, and that they can go on from their states. Contract: throws `CHECKPOINT_INVALID` if not. */
function checkSavedPosition(agent: FlowNode, state: Json): void {
  const saved = readSavedPosition(state)
  const node = agent.at(saved)
  if (!saved.asked) return
  if (!isComposed(node.agent)) {
    node.agent.checkState?.(saved.inner ?? null)
    return
  }
  const { agents, suspendedParts } = node.agent[PARTS]
  for (const { index, state: inner } of suspendedParts(saved.inner ?? null)) {
    const part = agents[index]
    if (!part) throw new KernelError('CHECKPOINT_INVALID', `${node.name} no longer has an agent ${index}`)
    checkSavedPosition(part, inner)
  }
}
