import {
  type Agent,
  type AgentInput,
  APPROVAL_SCHEMA,
  type ApprovalAnswer,
  type EventDraft,
  type Json,
  KernelError,
  type ResumeInfo,
  type RunContext,
} from '@troupe/kernel'
import { runNested } from '@troupe/kernel/run'
import { readAnswer } from './live-approval.ts'

/** What is to be approved, and who may be asked right now. */
export interface Approval {
  readonly id: string
  readonly tool: string
  /** The text of the arguments: an approval holds for these and no others. */
  readonly arguments: string
  readonly message: string
  /** Asks who is there; `undefined` if nobody answers. */
  askLive(): Promise<ApprovalAnswer | undefined>
}

/** An answer and where it comes from. */
export type Approved = ApprovalAnswer & { readonly by: 'listener' | 'answer' }

/**
 * Asks a live listener, else by an interrupt where the run can wait for one; `undefined` if nobody can be asked.
 *
 * In a run that can wait, the question is a nested run of its own inside the call. So the call remembers it: when it runs again, here or in
 * another process, the answer of a live listener is not asked for again, a question that became an interrupt gets its answer and goes to
 * no listener, and neither takes the number of a question that the tool itself asks.
 */
export async function askApproval(approval: Approval, ctx: RunContext): Promise<Approved | undefined> {
  if (!ctx.canInterrupt) {
    const answer = await approval.askLive()
    return answer && { ...answer, by: 'listener' }
  }
  const messages = [{ id: approval.id, role: 'user', content: approval.arguments } as const]
  const { output } = await runNested(questionAgent(approval, ctx.agentName), { messages }, ctx, { forward: false })
  return verdictOf(approval, output)
}

type Verdict = { readonly question: string; readonly arguments: string; readonly answer: Approved }

/** What the nested run came to; it may have been told in an earlier attempt of the call. */
function verdictOf({ id, arguments: text }: Approval, output: unknown): Approved {
  const verdict = output as Verdict | undefined
  if (verdict?.question !== id || verdict.arguments !== text) throw changed(id)
  return { ...readAnswer(verdict.answer), by: verdict.answer.by === 'listener' ? 'listener' : 'answer' }
}

function questionAgent(approval: Approval, agentName: string): Agent {
  const { id, tool, arguments: text, message } = approval
  async function* waiting(ctx: RunContext): AsyncIterable<EventDraft> {
    const metadata = { tool, arguments: text }
    const request = { reason: 'approval', message, responseSchema: APPROVAL_SCHEMA, metadata }
    const answer: Json = await ctx.derive({ agentName }).interrupt(request)
    yield verdict({ ...readOrRefuse(answer), by: 'answer' })
  }
  const verdict = (answer: Approved): EventDraft => {
    const result: Verdict = { question: id, arguments: text, answer }
    return { type: 'action', action: { type: 'exit', result } }
  }
  return {
    name: 'policy',
    description: 'Asks whether a call may run.',
    async *run(_: AgentInput, ctx: RunContext) {
      const answer = await approval.askLive()
      if (answer) yield verdict({ ...answer, by: 'listener' })
      else yield* waiting(ctx)
    },
    async *resume({ messages: [asked] }: ResumeInfo, ctx: RunContext) {
      if (asked?.id !== id || asked.content !== text) throw changed(id)
      yield* waiting(ctx)
    },
  }
}

/** A Runner lets only sound answers through; anything else refuses. */
function readOrRefuse(answer: unknown): ApprovalAnswer {
  try {
    return readAnswer(answer)
  } catch {
    return { approved: false }
  }
}

/** What the call has saved belongs to another question: the rules or the arguments have changed while it waited. */
function changed(id: string): KernelError {
  return new KernelError('POLICY_DENIED', `approval ${id}: what was approved is not what is to run now; call again`)
}
