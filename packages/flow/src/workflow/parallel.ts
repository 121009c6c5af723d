import { type Agent, KernelError } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import { orderMessages, setTextAndOutput } from '@troupe/kernel/run'
import type { Steering } from '../tree/flow-outcome.ts'
import { Branch, type BranchState, isBranchState } from './branch.ts'
import { checkWorkflow, type Stage, WORKFLOW_OPTIONS, type WorkflowOptions, workflow } from './workflow.ts'

/** Options of `parallel`. */
export interface ParallelOptions extends WorkflowOptions {
  /**
   * How a failing branch is treated: `stop` aborts the others and fails with its error; `continue` lets them finish and fails only if every branch has failed.
   * @default 'stop'
   */
  readonly onError?: 'stop' | 'continue'
}

/** How long a run waits for its agents after an abort; branches get a part of it. */
const GRACE_MS = 1_000

/**
 * Runs agents at the same time; each sees the shared history and its own messages.
 * Contract: their messages and state changes are joined in the order of the list, also when the workflow fails. Text and output are those of the last
 * listed branch that exited; or else of the last that said something and did not fail; or else of the last that said something.
 * @example parallel({ name: 'reviews', agents: [security, style], onError: 'continue' })
 */
export function parallel(given: ParallelOptions): Agent {
  checkWorkflow('parallel', given, { ...WORKFLOW_OPTIONS, onError: true })
  const { onError = 'stop', ...options } = given
  if (onError !== 'stop' && onError !== 'continue') {
    throw new KernelError(
      'CONFIG_INVALID',
      `parallel ${options.name}: onError must be stop or continue, ${got(onError)}`,
    )
  }
  const names = new Set(options.agents?.map?.((agent) => agent?.name))
  if (names.size < (options.agents?.length ?? 0)) {
    throw new KernelError(
      'CONFIG_INVALID',
      `parallel ${options.name}: agents that run in parallel must have different names`,
    )
  }
  return workflow<readonly BranchState[]>(options, {
    kind: 'parallel',
    async runAgents(stage, saved) {
      const branches = branchesOf(stage, saved ?? [], onError === 'continue')
      try {
        await settle(stage, branches, onError === 'stop')
        const failed = branches.filter(({ failure }) => failure)
        const first = failed.find(({ cancelled }) => !cancelled) ?? failed[0]
        const tolerated = onError === 'continue' && !first?.cancelled && failed.length < branches.length
        if (first?.failure && !tolerated) throw first.failure
        for (const branch of failed) await branch.reportFailure()
      } finally {
        for (const branch of branches) branch.join()
        orderMessages(
          stage.ctx,
          branches.flatMap(({ messageIds }) => messageIds),
        )
        joinTextAndOutput(stage, branches)
      }
      const states = branches.map((branch) => branch.state())
      if (states.every(({ done }) => done)) return steering(states)
      const interrupts = states.flatMap((branch) => branch.interrupts ?? [])
      const callIds = states.flatMap((branch) => branch.callIds ?? [])
      return { suspended: { interrupts, ...(callIds.length > 0 && { callIds }), state: states } }
    },
    isState: (state, agents): state is readonly BranchState[] =>
      Array.isArray(state) && state.length === agents && state.every(isBranchState),
    suspendedParts: (branches) =>
      branches.flatMap(({ done, inner = null }, index) => (done ? [] : { index, state: inner })),
  })
}

function branchesOf(stage: Stage, saved: readonly BranchState[], tolerant: boolean): readonly Branch[] {
  const { messages } = stage.flowContext.log
  const saidIds = new Set(saved.flatMap(({ said }) => said))
  const calls = new Set(saved.flatMap(({ calls }) => calls))
  const past = saved.length === 0 ? messages : messages.filter((message) => !isOf(message, saidIds, calls))
  return stage.agents.map((_, index) => {
    const before = saved[index]
    if (!before) return new Branch(stage, index, past, tolerant)
    const [own, ownCalls] = [new Set(before.said), new Set(before.calls)]
    return new Branch(
      stage,
      index,
      past.concat(messages.filter((message) => isOf(message, own, ownCalls))),
      tolerant,
      before,
    )
  })
}

type Found = Stage['flowContext']['log']['messages'][number]

function isOf(message: Found, ids: ReadonlySet<string>, calls: ReadonlySet<string>): boolean {
  return ids.has(message.id) || (message.role === 'tool' && calls.has(message.callId))
}

/** Runs the branches. Contract: after a failure or an abort the branches get a grace period, shorter than that of the run and of the workflows around them, so that their messages can still be joined. */
async function settle({ ctx }: Stage, branches: readonly Branch[], stopping: boolean): Promise<void> {
  const over = Promise.withResolvers<void>()
  let cancelTimer: (() => void) | undefined
  const giveGrace = () => {
    cancelTimer ??= ctx.clock.after(GRACE_MS / ((ctx.depth + 1) * (ctx.runPath.length + 2)), over.resolve)
  }
  const watch = async (branch: Branch) => {
    await branch.run()
    // A branch that goes no further than its journal leaves the others to come as far as they can.
    if (!stopping || !branch.failure || branch.failure.code === 'OUTCOME_UNKNOWN' || cancelTimer) return
    giveGrace()
    const reason = new KernelError('ABORTED', `parallel ${ctx.agentName}: ${branch.name} has failed`)
    for (const other of branches) other.stop(reason)
  }
  const { signal } = ctx
  signal.addEventListener('abort', giveGrace)
  await Promise.race([Promise.all(branches.map(watch)), over.promise])
  signal.removeEventListener('abort', giveGrace)
  cancelTimer?.()
}

/** Sets the text and output of the workflow in the branch around it, or in the run, so that they do not depend on which branch ends last. */
function joinTextAndOutput({ ctx }: Stage, branches: readonly Branch[]): void {
  const spoke = branches.filter(({ textAndOutput }) => textAndOutput)
  const decisive =
    spoke.findLast(({ textAndOutput }) => textAndOutput?.exited) ??
    spoke.findLast(({ failure }) => !failure) ??
    spoke.at(-1)
  if (decisive?.textAndOutput) setTextAndOutput(ctx, decisive.textAndOutput)
}

/** Picks the action of the workflow: an exit goes before a break, and the last action of a kind counts. */
function steering(states: readonly BranchState[]): { readonly action?: Steering } {
  const actions = states.flatMap(({ action }) => action ?? [])
  const action = actions.findLast(({ type }) => type === 'exit') ?? actions.at(-1)
  return action ? { action } : {}
}
