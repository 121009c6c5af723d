import {
  type Agent,
  type AgentInput,
  type EventDraft,
  type Json,
  type JsonObject,
  type JsonSchema,
  KernelError,
  type ResumeInfo,
  type RunContext,
} from '@troupe/kernel'
import { APPROVAL_SCHEMA } from '@troupe/kernel/kit'
import { runNested } from '@troupe/kernel/run'
import { readAnswer } from './ask-live.ts'
import type { AlwaysAnswer } from './bus.ts'
import type { CallGrants } from './call-grants.ts'

/** The call to approve, and a way to ask the live listeners. */
interface ApprovalQuestion {
  readonly id: string
  readonly tool: string
  /** The text of the arguments: an approval holds for these and no others. */
  readonly arguments: string
  readonly message: string
  /** Asks the live listeners; gives `undefined` if none of them answers. */
  askLive(): Promise<AlwaysAnswer | undefined>
  /** The permissions given before; absent if an answer holds for this call only. */
  readonly grants: CallGrants | undefined
}

/** An answer and its source. */
export type SourcedAnswer = AlwaysAnswer & { readonly by: 'grant' | 'listener' | 'answer' }

/**
 * Looks for a grant, asks the live listeners, then raises an interrupt if the run can wait for one; gives `undefined` if there is no one to ask.
 *
 * In a run that can wait, the question is a nested run inside the call, so the call remembers it. When the call runs again, here or in
 * another process, a live listener's answer is reused, and a question that became an interrupt gets its answer without asking a listener.
 * Neither is an answer to a question that the tool itself asks.
 */
export async function askApproval(question: ApprovalQuestion, ctx: RunContext): Promise<SourcedAnswer | undefined> {
  if (!ctx.canInterrupt) {
    // The call of an agent runs again when the run goes on after a crash, and nobody is asked twice.
    return (await ctx.perform('approval', async () => (await askNow(question)) ?? null)) ?? undefined
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
  return { ...readAnswer(answered.answer), by: answered.answer.by }
}

/** Gives the answer of a grant or of a live listener, if there is one. */
async function askNow(question: ApprovalQuestion): Promise<SourcedAnswer | undefined> {
  if (await question.grants?.allow()) return { approved: true, by: 'grant' }
  const answer = await question.askLive()
  if (!answer) return undefined
  await question.grants?.remember(answer)
  return { ...answer, by: 'listener' }
}

/** The schema of an answer that may have `always`. */
const ALWAYS_SCHEMA: JsonSchema = {
  ...APPROVAL_SCHEMA,
  properties: { ...(APPROVAL_SCHEMA.properties as JsonObject), always: { enum: ['thread', 'tool'] } },
}

function questionAgent(question: ApprovalQuestion, agentName: string): Agent {
  const { id, tool, arguments: text, message } = question
  async function* waiting(ctx: RunContext): AsyncIterable<EventDraft> {
    const metadata = { tool, arguments: text }
    const request = {
      reason: 'approval',
      message,
      responseSchema: question.grants ? ALWAYS_SCHEMA : APPROVAL_SCHEMA,
      metadata,
    }
    const answer: Json = await ctx.derive({ agentName }).interrupt(request)
    const given = readOrRefuse(answer)
    await question.grants?.remember(given)
    yield exitWith({ ...given, by: 'answer' })
  }
  const exitWith = (answer: SourcedAnswer): EventDraft => {
    const result: AnsweredQuestion = { question: id, arguments: text, answer }
    return { type: 'action', action: { type: 'exit', result } }
  }
  return {
    name: 'policy',
    description: 'Asks whether a call may run.',
    async *run(_: AgentInput, ctx: RunContext) {
      const answer = await askNow(question)
      if (answer) yield exitWith(answer)
      else yield* waiting(ctx)
    },
    async *resume({ messages: [asked] }: ResumeInfo, ctx: RunContext) {
      if (asked?.id !== id || asked.content !== text) throw changed(id)
      yield* waiting(ctx)
    },
  }
}

/** Reads an answer. Contract: an invalid one refuses the call; a Runner lets only valid ones through. */
function readOrRefuse(answer: unknown): AlwaysAnswer {
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
