import type { AgentEvent, AgentInput, JsonObject, RunContext, Sink, State } from '@troupe/kernel'
import { JOURNAL, KernelError, NEXT_MESSAGES } from '@troupe/kernel'
import type { StateChanges } from '@troupe/kernel/journal'
import type { HostedRun } from '@troupe/kernel/run'
import { transfersLeft, withFlowContext } from '../flow-context.ts'
import type { ThreadLog } from '../thread-log.ts'
import { type FlowOutcome, type Suspended, throwIfCancelled } from '../tree/flow-outcome.ts'
import { runFlow } from '../tree/run-flow.ts'
import type { RunJournal } from './run-journal.ts'
import type { RunnerParts } from './runner-parts.ts'
import type { ThreadUpdate } from './thread-update.ts'
import type { WaitingMessages } from './waiting-messages.ts'

/** A run that has its thread: what it changes there, its messages, and its journal. */
export interface ThreadWork {
  readonly update: ThreadUpdate
  readonly log: ThreadLog
  readonly journal: RunJournal | undefined
  /** What the callbacks have kept with the run that this one goes on from. */
  readonly kept?: JsonObject | undefined
  /** How the state differs from what readers know of it, if the run goes on after its process died. */
  unseenChanges?(state: State): StateChanges
  /** Stores what a lost run has done, for a run that is stopped before all of it was done again. */
  settle?(): Promise<unknown>
  /** Called when the agents have ended. Contract: throws if the run was stopped before that. */
  agentsEnded?(): void
}

/** Runs the agents of a run on its thread. Contract: `done` is called before the last commit, and says whether the run may still write. */
export async function runOnThread(
  { flow, limits, wrapJournal }: RunnerParts,
  work: ThreadWork,
  ctx: RunContext,
  run: HostedRun,
  sink: Sink<AgentEvent>,
  done: () => boolean,
): Promise<void> {
  const { update, log, journal } = work
  const start = update.begin()
  journal?.keepWith(() => run.kept())
  run.begin(start, update.seesAll)
  const { next } = update
  const inner = next.left.length > 0 ? ctx.with(NEXT_MESSAGES, next) : ctx
  const own = withFlowContext(withJournal(inner, journal, wrapJournal), log, limits.transfers, update.transfersLeft)
  const runAgents = async () => {
    const outcome = await runFlow(flow, start, own, sink)
    const { suspended } = nextTurn(outcome, next) ? await runTurn(flow, start, own, sink, next) : outcome
    work.agentsEnded?.()
    await correctState(work, ctx, sink)
    if (suspended) await suspend(suspended, update, own, sink, run.kept())
  }
  try {
    await run.settle(runAgents())
  } finally {
    if (done()) await (settleOf(work, ctx.signal.aborted)?.() ?? update.commitLast(ctx.state))
  }
}

/** Whether messages that came with the answers are still to be answered. */
function nextTurn({ end, suspended }: FlowOutcome, { left }: WaitingMessages): boolean {
  return left.length > 0 && !suspended && (end === undefined || end.outcome === 'complete')
}

/** Answers the messages that no agent has taken. */
function runTurn(
  flow: RunnerParts['flow'],
  { additions, options }: AgentInput,
  ctx: RunContext,
  sink: Sink<AgentEvent>,
  next: WaitingMessages,
): Promise<FlowOutcome> {
  throwIfCancelled(ctx)
  next.take()
  const input = { ...(additions && { additions }), ...(options && { options }) }
  return runFlow(flow, input, ctx.derive({ step: 'turn:1' }), sink)
}

/** The way to end a run that was stopped before all that it did was done again; undefined for any other run. */
export function settleOf({ journal, settle }: ThreadWork, aborted: boolean): ThreadWork['settle'] {
  return journal?.isCutShort(aborted) ? settle : undefined
}

/** Contract: a journal that the caller has put into the context stays. */
function withJournal(
  ctx: RunContext,
  journal: RunJournal | undefined,
  wrap: RunnerParts['wrapJournal'] = (steps) => steps,
): RunContext {
  return !journal || ctx.get(JOURNAL) ? ctx : ctx.with(JOURNAL, wrap(journal.steps))
}

/** Shows readers the state as it is, where they have seen changes that the run has not kept. */
async function correctState({ unseenChanges }: ThreadWork, ctx: RunContext, sink: Sink<AgentEvent>): Promise<void> {
  const { set = {}, removed = [] } = unseenChanges?.(ctx.state) ?? {}
  if (Object.keys(set).length === 0 && removed.length === 0) return
  const { runId, agentName, runPath } = ctx
  await sink.write({ type: 'state-delta', runId, agentName, runPath, set, removed })
}

/** Suspends the run and shows its questions. Contract: the checkpoint is stored first, so that a question can be answered at once; the state of the agents is not shown. */
async function suspend(
  suspended: Suspended,
  update: ThreadUpdate,
  ctx: RunContext,
  sink: Sink<AgentEvent>,
  callbacks: JsonObject | undefined,
): Promise<void> {
  const transfers = transfersLeft(ctx)
  const kept = { ...(transfers !== undefined && { transfers }), ...(callbacks && { callbacks }) }
  const checkpoint = update.checkpoint(suspended, ctx.state, kept)
  const { interrupts } = checkpoint
  if (interrupts.length > 0) {
    // A run that was stopped, or asked to stop, must not ask.
    ctx.throwIfAborted()
    if (ctx.cancelling) {
      throw new KernelError(
        'ABORTED',
        `run ${ctx.runId}: asked to stop ${ctx.cancelling}, so it does not ask its question`,
      )
    }
    await update.commit(ctx.state, checkpoint)
    ctx.throwIfAborted()
  }
  update.suspended = checkpoint
  if (interrupts.length === 0) return
  const { runId, agentName, runPath } = ctx
  const { callIds } = suspended
  const action = { type: 'interrupt', interrupts, ...(callIds && { callIds }) } as const
  await sink.write({ type: 'action', runId, agentName, runPath, action })
}
