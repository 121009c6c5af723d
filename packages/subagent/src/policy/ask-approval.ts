import {
  type Agent,
  type AgentInput,
  type ApprovalAnswer,
  type EventDraft,
  type Json,
  KernelError,
  type ResumeInfo,
  type RunContext,
} from '@troupe/kernel'
import { APPROVAL_SCHEMA } from '@troupe/kernel/kit'
import { runNested } from '@troupe/kernel/run'
import { readAnswer } from './ask-live.ts'

/** The call to approve, and a way to ask the live listeners. */
interface ApprovalQuestion {
  readonly id: string
  readonly tool: string
  /** The text of the arguments: an approval holds for these and no others. */
  readonly arguments: string
  readonly message: string
  /** Asks the live listeners; gives `undefined` if none of them answers. */
  askLive(): Promise<ApprovalAnswer | undefined>
}

/** An answer and its source. */
export type SourcedAnswer = ApprovalAnswer & { readonly by: 'listener' | 'answer' }

/**
 * Asks the live listeners, then raises an interrupt if the run can wait for one; gives `undefined` if there is no one to ask.
 *
 * In a run that can wait, the question is a nested run inside the call, so the call remembers it. When the call runs again, here or in
 * another process, a live listener's answer is reused, and a question that became an interrupt gets its answer without asking a listener.
 * Neither is an answer to a question that the tool itself asks.
 */
export async function askApproval(question: ApprovalQuestion, ctx: RunContext): Promise<SourcedAnswer | undefined> {
  if (!ctx.canInterrupt) {
    // The call of an agent runs again when the run goes on after a crash, and nobody is asked twice.
    const answer = await ctx.perform('approval', async () => (await question.askLive()) ?? null)
    return answer ? { ...answer, by: 'listener' } : undefined
  }
  const messages = [{ id: question.id, role: 'user', content: question.arguments } as const]
  const { output } = await runNested(questionAgent(question, ctx.agentName), { messages }, ctx, { forward: false })
  return answerIn(question, output)
}

type AnsweredQuestion = { readonly question: string; readonly arguments: string; readonly answer: SourcedAnswer }

/** Reads the answer from the nested run's output, which may come from an earlier attempt of the call. */
function answerIn({ id, arguments: text }: ApprovalQuestion, output: unknown): SourcedAnswer {
  const answered = output as AnsweredQuestion | undefined
  if (answered?.question !== id || answered.arguments !== text) throw changed(id)
  return { ...readAnswer(answered.answer), by: answered.answer.by === 'listener' ? 'listener' : 'answer' }
}

function questionAgent(question: ApprovalQuestion, agentName: string): Agent {
  const { id, tool, arguments: text, message } = question
  async function* waiting(ctx: RunContext): AsyncIterable<EventDraft> {
    const metadata = { tool, arguments: text }
    const request = { reason: 'approval', message, responseSchema: APPROVAL_SCHEMA, metadata }
    const answer: Json = await ctx.derive({ agentName }).interrupt(request)
    yield exitWith({ ...readOrRefuse(answer), by: 'answer' })
  }
  const exitWith = (answer: SourcedAnswer): EventDraft => {
    const result: AnsweredQuestion = { question: id, arguments: text, answer }
    return { type: 'action', action: { type: 'exit', result } }
  }
  return {
    name: 'policy',
    description: 'Asks whether a call may run.',
    async *run(_: AgentInput, ctx: RunContext) {
      const answer = await question.askLive()
      if (answer) yield exitWith({ ...answer, by: 'listener' })
      else yield* waiting(ctx)
    },
    async *resume({ messages: [asked] }: ResumeInfo, ctx: RunContext) {
      if (asked?.id !== id || asked.content !== text) throw changed(id)
      yield* waiting(ctx)
    },
  }
}

/** Reads an answer. Contract: an invalid one refuses the call; a Runner lets only valid ones through. */
function readOrRefuse(answer: unknown): ApprovalAnswer {
  try {
    return readAnswer(answer)
  } catch {
    return { approved: false }
  }
}

/** The saved answer belongs to another question: the rules or the arguments changed while the call waited. */
function changed(id: string): KernelError {
  return new KernelError('POLICY_DENIED', `approval ${id}: the call has changed since it was approved; call again`)
}
