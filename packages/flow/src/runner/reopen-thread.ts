import {
  type ContinueRequest,
  type Journal,
  type JsonObject,
  KernelError,
  type Restored,
  type Thread,
  type ThreadRef,
} from '@troupe/kernel'
import { ThreadLog } from '../thread-log.ts'
import { keptValues } from './checkpoint.ts'
import { openAgain } from './opening.ts'
import { RunJournal, readJournal } from './run-journal.ts'
import type { RunnerParts } from './runner-parts.ts'
import { type RunIntent, ThreadUpdate, type ThreadWrite } from './thread-update.ts'
import type { ThreadWork } from './thread-work.ts'
import type { StoreWrite } from './with-retries.ts'

/** A run that has the lease of its thread. */
export interface LeasedRun {
  readonly ref: ThreadRef
  readonly runId: string
  readonly token: number
  /** Whether no run has begun with its id before, as far as the store tells. */
  readonly fresh?: boolean
  /** The thread when the lease was taken, if the store has told; null if there was none. */
  readonly thread?: Thread | null | undefined
  /** Writes what the run has done. @default for a moment, for a run that shows nothing */
  readonly write?: StoreWrite
  /** Writes the last commit of the run, which releases the lease. @default the lease belongs to another run and stays */
  readonly writeLast?: ThreadWrite
  /** Called where the journal of a lost run ends, before anything more is done. Contract: throws if the run must not go on. */
  readonly atEnd?: () => void
}

/** How a lost run is opened again. */
interface ReopenOptions extends Pick<ContinueRequest, 'restore'>, Pick<Journal, 'shown'> {}

/** Opens the thread of a run again whose process died. Contract: throws `NOT_FOUND` if the thread has no such run. */
export async function reopenThread(
  parts: RunnerParts,
  { ref, runId, token, write, writeLast, atEnd }: LeasedRun,
  { restore, ...options }: ReopenOptions = {},
): Promise<ThreadWork & { readonly restored: Restored }> {
  const { store, flow, clock } = parts
  const { journal } = store
  const thread = await store.threads.get(ref)
  const stored = journal && (await journal.read(ref))
  if (!thread || !journal || stored?.runId !== runId) throw nothingToContinue(ref)
  const { opened, recorded, kept = keptBefore(thread) } = readJournal(stored.entries, flow.name)
  const { options: runOptions, instruction, temp, carry, by } = opened
  const restored = restore?.(carry) ?? {}
  const tools = restored.additions?.tools
  const intent: RunIntent = {
    input: {
      messages: [],
      ...(runOptions && { options: runOptions }),
      ...((instruction !== undefined || tools) && {
        additions: { ...(instruction !== undefined && { instruction }), ...(tools && { tools }) },
      }),
      ...(temp && { state: { set: temp } }),
    },
  }
  const log = new ThreadLog([])
  const opening = openAgain(flow, thread, opened)
  const update = new ThreadUpdate({
    runner: parts,
    runId,
    intent,
    thread,
    opening,
    token,
    write,
    writeLast,
    log,
    carry: undefined,
    ...(opened.from !== undefined && { from: opened.from }),
  })
  await update.open()
  return {
    update,
    log,
    journal: new RunJournal(
      { journal, clock, ref, runId, token, write },
      { by, recorded },
      { ...options, unknownCalls: parts.unknownCalls, ...(atEnd && { atEnd }) },
    ),
    restored,
    kept,
  }
}

function keptBefore({ checkpoint }: Thread): JsonObject | undefined {
  return keptValues(checkpoint).callbacks
}

/** The error for a thread without a run that can be continued. */
export function nothingToContinue({ threadId }: ThreadRef): KernelError {
  return new KernelError('NOT_FOUND', `continue: thread ${threadId} has no run that broke off`)
}
