import { type Journal, KernelError, type Part, type RunContext, type ToolCallResult } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { NotedStep, repeatEffects, retell } from '@troupe/kernel/journal'
import { recordableError } from '@troupe/kernel/run'
import { type CallEffects, type CallRecord, chunksOf, recordedChunks } from './call-record.ts'

type MutableRecord = { -readonly [K in keyof CallRecord]: CallRecord[K] }

/** A call that is recorded as one step of its run. */
export interface RecordableCall {
  readonly ctx: RunContext
  readonly effects: CallEffects
  /** Gives the result of a call that must not happen twice and may have happened; it may ask a person. */
  readonly lost: (() => Promise<ToolCallResult>) | undefined
  call(ctx: RunContext, show: (chunk: string | Part) => void | Promise<void>): Promise<ToolCallResult>
  show(chunk: string | Part): void | Promise<void>
  /** Announces once more that the tool began with these arguments. */
  begin(args: string): void | Promise<void>
}

/**
 * Makes a call under the journal of its run, or does to the run what it did before.
 * Contract: a call that was stopped with the whole run is not recorded; runs and work inside the call are not steps of their own.
 */
export async function recordedCall(
  journal: Journal,
  { ctx, effects, lost, call, show, begin }: RecordableCall,
): Promise<ToolCallResult> {
  let made: { readonly result: ToolCallResult } | { readonly thrown: unknown } | undefined
  const recordOf = async (attempt: () => Promise<ToolCallResult>): Promise<MutableRecord> => {
    const record: MutableRecord = {}
    try {
      const result = await attempt()
      made = { result }
      record.result = result
    } catch (thrown) {
      record.error = recordableError(ctx, thrown).toJSON()
      made = { thrown }
    }
    const done = recordedEffects(effects)
    if (done) record.effects = done
    return record
  }
  const work = async (): Promise<CallRecord> => {
    const noted = new NotedStep(ctx)
    const chunks: (string | Part)[] = []
    const collect = (chunk: string | Part) => {
      chunks.push(chunk)
      return show(chunk)
    }
    const record = await recordOf(() => call(noted.ctx, collect))
    if (chunks.length > 0) record.chunks = recordedChunks(chunks, record)
    return Object.assign(record, noted.effects())
  }
  let record: CallRecord
  try {
    record = await journal.perform(`${ctx.runId}/${ctx.step}`, work, lost && (() => recordOf(lost)))
  } catch (error) {
    if (!KernelError.is(error, 'OUTCOME_UNKNOWN')) throw error
    // A run that goes no further than its journal does not know what its last calls did.
    record = { result: { content: UNKNOWN_RESULT } }
  }
  if (!made) return repeat(journal, record, ctx, effects, show, begin)
  if ('thrown' in made) throw made.thrown
  // The cause of a failure is known by the object that the call gave; everything else goes on with the record.
  return made.result.error ? made.result : (record.result ?? made.result)
}

/** Does to the run what the call did when it was recorded, and gives its result or throws its error. */
async function repeat(
  journal: Journal,
  record: CallRecord,
  ctx: RunContext,
  effects: CallEffects,
  show: RecordableCall['show'],
  begin: RecordableCall['begin'],
): Promise<ToolCallResult> {
  const {
    interrupts = [],
    actions = [],
    customActions = [],
    asksApproval,
    asksOutcome,
    saved,
    began,
  } = record.effects ?? {}
  effects.interrupts.push(...interrupts)
  effects.actions.push(...actions)
  effects.customActions.push(...customActions)
  effects.asksApproval ||= asksApproval === true
  effects.asksOutcome = asksOutcome === true
  effects.saved = saved
  if (began !== undefined) await retell(journal, () => begin(began))
  await repeatEffects(journal, ctx, record)
  for (const chunk of chunksOf(record)) await retell(journal, () => show(chunk))
  if (record.result) return record.result
  throw KernelError.from(record.error)
}

/** What a call did to its run, for its record; undefined if it did nothing. */
function recordedEffects(made: CallEffects): CallRecord['effects'] {
  const { interrupts, actions, customActions, asksApproval, asksOutcome, saved, began } = made
  const effects = {
    ...(interrupts.length > 0 && { interrupts }),
    ...(actions.length > 0 && { actions }),
    ...(customActions.length > 0 && { customActions }),
    ...(asksApproval && { asksApproval }),
    ...(asksOutcome && { asksOutcome }),
    ...(saved !== undefined && { saved }),
    ...(began !== undefined && { began }),
  }
  return Object.keys(effects).length > 0 ? effects : undefined
}
