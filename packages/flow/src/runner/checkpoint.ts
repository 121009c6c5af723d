import {
  type Answers,
  type Checkpoint,
  got,
  type Interrupt,
  type Json,
  KernelError,
  notJson,
  type Thread,
  validate,
} from '@troupe/kernel'
import { isComposed, PARTS } from '../tree/composed.ts'
import type { FlowAgent } from '../tree/flow-agent.ts'
import type { Resumption, Suspended } from '../tree/flow-outcome.ts'
import { readSavedPosition } from '../tree/saved-position.ts'
import { validateJsonSchema } from './validator.ts'

const FORMAT = 1

/** What is stored of a suspension: where it goes on, and which question of whom has which id. */
type Stored = { readonly place: Json; readonly questions: { readonly [interruptId: string]: string } }

/**
 * Makes a checkpoint, with questions as a client sees them.
 * Contract: a question outside a call is numbered from one in each turn, so it gets the id of the run that first asked it in front: a late
 * answer never meets a later question.
 */
export function makeCheckpoint(
  agentName: string,
  runId: string,
  { interrupts, state }: Suspended,
  former: Checkpoint | undefined,
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
  return { format: FORMAT, runId, agentName, interrupts: shown, state: { place: state, questions } }
}

/** What brings a suspended run back, in the words of its agents. */
export function resumptionOf({ state }: Checkpoint, answers: Answers = {}): Resumption {
  const { place, questions } = state as Stored
  return {
    state: place,
    answers: Object.fromEntries(Object.entries(answers).map(([id, answer]) => [questions[id] ?? id, answer])),
  }
}

/** The run that took the answers of this thread and has not ended: what it did is not known. */
export function brokenOff({ checkpoint }: Pick<Thread, 'checkpoint'>): string | undefined {
  return checkpoint?.resumedBy
}

/** The questions of a thread, as far as its checkpoint can be read. */
export function askedIn({ checkpoint }: Pick<Thread, 'checkpoint'>): readonly Interrupt[] {
  const interrupts: unknown = checkpoint?.interrupts
  return Array.isArray(interrupts) ? interrupts.filter((interrupt) => typeof interrupt?.id === 'string') : []
}

/** Where a suspended run goes on. Contract: throws `CHECKPOINT_INVALID` for what is broken, from elsewhere or does not fit the tree any more. */
export function readCheckpoint(agent: FlowAgent, { checkpoint }: Pick<Thread, 'checkpoint'>): Checkpoint | undefined {
  if (checkpoint === undefined) return undefined
  const found: Partial<Checkpoint> | null = checkpoint
  const wrong = (what: string) =>
    new KernelError('CHECKPOINT_INVALID', `checkpoint of ${agent.name}: ${what}; drop it with pending: 'drop'`)
  if (found?.format !== FORMAT) throw wrong(`format ${FORMAT} is known, ${got(found?.format)}`)
  if (found.agentName !== agent.name) throw wrong(`it was made by another agent, ${got(found.agentName)}`)
  if (!Array.isArray(found.interrupts) || found.interrupts.some((interrupt) => typeof interrupt?.id !== 'string')) {
    throw wrong('its interrupts are broken')
  }
  const { place, questions } = (found.state ?? {}) as Partial<Stored>
  if (typeof questions !== 'object' || questions === null) throw wrong('its questions are broken')
  try {
    checkSavedPosition(agent, place ?? null)
  } catch (error) {
    throw wrong(KernelError.from(error).message)
  }
  return checkpoint
}

/** Contract: throws before anything changes: `INTERRUPT_UNKNOWN`, `INTERRUPT_EXPIRED`, `VALIDATION_FAILED`. */
export async function checkAnswers(answers: Answers, open: readonly Interrupt[], now: number): Promise<void> {
  const entries: readonly [string, Json][] = Object.entries(answers ?? {})
  if (entries.length === 0)
    throw new KernelError('VALIDATION_FAILED', 'resume: expected an answer by interrupt id, got none')
  for (const [id, answer] of entries) {
    const interrupt = open.find((candidate) => candidate.id === id)
    if (!interrupt) {
      const ids = open.map((candidate) => candidate.id)
      const message = `resume: ${ids.length > 0 ? `open are ${ids.join(', ')}` : 'nothing is open in this thread'}, ${got(id)}`
      throw new KernelError('INTERRUPT_UNKNOWN', message, { details: { open: ids } })
    }
    const { expiresAt, responseSchema } = interrupt
    if (expiresAt !== undefined && expiresAt <= now) {
      throw new KernelError('INTERRUPT_EXPIRED', `resume: the time to answer ${id} is over`, {
        details: { id, expiresAt },
      })
    }
    const broken = notJson(answer)
    if (broken !== undefined) {
      throw new KernelError(
        'VALIDATION_FAILED',
        `resume: the answer to ${id} is not plain JSON at ${broken || 'its root'}`,
      )
    }
    if (responseSchema) await checkAnswer(id, answer, responseSchema)
  }
}

async function checkAnswer(id: string, answer: Json, schema: NonNullable<Interrupt['responseSchema']>): Promise<void> {
  try {
    await validate(schema, answer, validateJsonSchema)
  } catch (cause) {
    const { code, message, details } = KernelError.from(cause, 'VALIDATION_FAILED')
    throw new KernelError(code, `resume: the answer to ${id} does not fit, ${message}`, {
      cause,
      details: { ...details, id },
    })
  }
}

/** Contract: throws `CHECKPOINT_INVALID` if the tree has nothing there any more. */
function checkSavedPosition(agent: FlowAgent, state: Json): void {
  const saved = readSavedPosition(state)
  const node = agent.at(saved)
  if (!saved.asked || !isComposed(node.agent)) return
  const { agents, suspendedParts } = node.agent[PARTS]
  for (const { index, state: inner } of suspendedParts(saved.inner ?? null)) {
    const part = agents[index]
    if (!part) throw new KernelError('CHECKPOINT_INVALID', `${node.name}: it has no agent ${index} any more`)
    checkSavedPosition(part, inner)
  }
}
