import {
  type CallToolResult,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server'
import {
  type EventOf,
  type Interrupt,
  type JsonObject,
  KernelError,
  type Owner,
  type Run,
  type RunContext,
  type RunRequest,
  type Store,
  type ThreadRef,
  textOf,
} from '@troupe/kernel'
import { messageFor, type OfferedTool } from './offered-tool.ts'
import { Progress } from './progress.ts'
import { isPublic } from './public-error.ts'
import { answersOf, canBeAsked, inputRequests } from './questions.ts'
import { type OpenQuestions, openInterrupts, stateFor } from './request-state.ts'
import type { RunningCalls } from './running-calls.ts'
import { failed, failedBy, inThread, resultOf, THREAD_KEY, unanswered } from './tool-results.ts'

/** What calls of one server share. */
export interface CallParts {
  readonly store: Pick<Store, 'threads'>
  readonly calls: RunningCalls
  readonly timeoutMs?: number
  readonly answerChars: number
  readonly report: (error: KernelError) => void
}

/** One call of a tool by a client. */
export interface ToolCallRequest {
  readonly offered: OfferedTool
  readonly owner: Owner
  /** Who is counted, whatever they call. */
  readonly user: string
  readonly args: JsonObject
  readonly ctx: ServerContext
  readonly capabilities: ClientCapabilities | undefined
  readonly prepare?: (ctx: RunContext) => RunContext
}

function wrongArguments({ kind }: OfferedTool): string {
  return kind === 'agent' ? 'message: expected a text' : 'arguments: too deep'
}

const LONGEST_ID = 256
/** How many messages a turn may have before its question. */
const LATEST = 100

type Answered = CallToolResult | InputRequiredResult

/** Carries out a call. Contract: whatever goes wrong in the run is a result with `isError`. */
export async function callTool(parts: CallParts, request: ToolCallRequest): Promise<Answered> {
  const { ctx, user } = request
  try {
    return await parts.calls.run(user, ctx.mcpReq.signal, (signal) => new ToolCall(parts, request, signal).answer())
  } catch (error) {
    return failedAndReported(parts, error)
  }
}

/** Contract: the text of an error that clients may not know goes to `report`. */
function failedAndReported({ report }: CallParts, cause: unknown): CallToolResult {
  const error = KernelError.from(cause)
  if (!isPublic(error.code)) report(error)
  return failedBy(error)
}

class ToolCall {
  readonly #parts: CallParts
  readonly #request: ToolCallRequest
  readonly #signal: AbortSignal

  constructor(parts: CallParts, request: ToolCallRequest, signal: AbortSignal) {
    this.#parts = parts
    this.#request = request
    this.#signal = signal
  }

  async answer(): Promise<Answered> {
    const { ctx, offered, args } = this.#request
    const state = ctx.mcpReq.requestState<OpenQuestions | string>()
    if (typeof state === 'object') {
      return state.offered === offered
        ? this.#goOn(state)
        : failed('INTERRUPT_UNKNOWN', 'This question is of another tool.')
    }
    if (state !== undefined) return failed('INTERRUPT_UNKNOWN', 'This conversation has no such open question.')
    const message = messageFor(offered, args)
    if (message === undefined) return failed('VALIDATION_FAILED', wrongArguments(offered))
    return this.#begin(message)
  }

  async #begin(message: string): Promise<Answered> {
    const { offered, owner, args, ctx } = this.#request
    const chosen = ctx.mcpReq._meta?.[THREAD_KEY]
    const known = offered.kind === 'agent' ? args.thread : undefined
    const threadId = known ?? chosen ?? crypto.randomUUID()
    if (typeof threadId !== 'string' || threadId === '' || threadId.length > LONGEST_ID) {
      throw new KernelError('NOT_FOUND', 'thread: unknown id')
    }
    const ref = { ...owner, threadId }
    const thread = known === undefined && chosen === undefined ? undefined : await this.#parts.store.threads.get(ref)
    if (known !== undefined && !thread) throw new KernelError('NOT_FOUND', 'thread: unknown id')
    const open = thread ? openInterrupts(thread) : []
    if (thread?.checkpoint && open.length > 0) {
      return this.#ask(ref, thread.checkpoint.runId, open, !(await this.#wasSaid(ref, message)))
    }
    if (thread && offered.kind === 'tool') return this.#brokenOff(ref)
    const messages = [{ role: 'user' as const, content: message }]
    return this.#follow(ref, offered.runner.run({ messages }, this.#runRequest(ref)))
  }

  /** Whether a call with an open question is the one that has asked it, made again: by a client whose server is gone. */
  async #wasSaid(ref: ThreadRef, message: string): Promise<boolean> {
    if (this.#request.offered.kind === 'tool') return true
    const latest = await this.#parts.store.threads.messages(ref, { newestFirst: true, limit: LATEST })
    const said = latest.find((entry) => entry.message.role === 'user')?.message
    return said !== undefined && textOf(said.content) === message
  }

  /** Takes the answers of a client. */
  async #goOn(questions: OpenQuestions): Promise<Answered> {
    const { ctx, offered, args } = this.#request
    const { ref, interrupts, runId, takenBy, withMessage } = questions
    const { runner } = offered
    if (takenBy !== undefined) return this.#continue(ref, takenBy)
    const given = answersOf(interrupts, ctx.mcpReq.inputResponses)
    if (given.cancelled.length > 0) {
      return this.#unanswered(ref, interrupts, 'The person has not answered:')
    }
    if (given.missing.length > 0) return this.#ask(ref, runId, interrupts, withMessage)
    const { answers, closed } = given
    const message = withMessage ? messageFor(offered, args) : undefined
    const messages = message === undefined ? [] : [{ id: crypto.randomUUID(), role: 'user' as const, content: message }]
    const more = { ...(closed.length > 0 && { closed }), ...(messages.length > 0 && { messages }) }
    try {
      return await this.#follow(ref, runner.resume(answers, { ...this.#runRequest(ref), ...more }))
    } catch (error) {
      // An answer that does not fit has changed nothing.
      if (!KernelError.is(error, 'VALIDATION_FAILED') || !(await this.#isOpen(ref, runId))) throw error
      return this.#ask(ref, runId, interrupts, withMessage)
    }
  }

  async #isOpen(ref: ThreadRef, runId: string): Promise<boolean> {
    const checkpoint = (await this.#parts.store.threads.get(ref))?.checkpoint
    return checkpoint?.runId === runId && checkpoint.resumedBy === undefined
  }

  /** A call of a tool whose process is gone. Contract: told once, and never made again by itself. */
  async #brokenOff(ref: ThreadRef): Promise<Answered> {
    if ((await this.#parts.store.threads.get(ref))?.runId !== undefined) return failedBy({ code: 'THREAD_BUSY' })
    await this.#forget(ref)
    return failedBy({ code: 'OUTCOME_UNKNOWN' })
  }

  /** Goes on with a run that has taken the answers and whose process is gone. */
  async #continue(ref: ThreadRef, runId: string): Promise<Answered> {
    const { runner, repeatable } = this.#request.offered
    if (!repeatable) return this.#brokenOff(ref)
    if (!runner.continue) throw new KernelError('INTERRUPT_UNKNOWN', 'call: the answers were taken before')
    const { prepare, signal, timeoutMs } = this.#runRequest(ref)
    const restored = { ...(prepare && { restore: () => ({ prepare }) }), ...(timeoutMs !== undefined && { timeoutMs }) }
    return this.#follow(ref, runner.continue(ref, { runId, ...(signal && { signal }), ...restored }))
  }

  #runRequest(session: ThreadRef): RunRequest & { readonly session: ThreadRef } {
    const { prepare } = this.#request
    const { timeoutMs } = this.#parts
    return { session, signal: this.#signal, ...(prepare && { prepare }), ...(timeoutMs !== undefined && { timeoutMs }) }
  }

  async #follow(ref: ThreadRef, run: Run): Promise<Answered> {
    const { ctx, offered } = this.#request
    const { answerChars } = this.#parts
    const progress = new Progress(ctx, answerChars)
    let end: EventOf<'run-end'> | undefined
    for await (const event of run.eventsWithoutThrowing()) {
      if (progress.wanted) await progress.tell(event)
      if (event.type === 'run-end' && event.runId === run.runId) end = event
    }
    if (!end) {
      // A run that never began throws its reason, and the thread stays as it is.
      await run
      throw new KernelError('AGENT_FAILED', 'call: the run has no end')
    }
    const { interrupts = [], openCallIds = [], error } = end
    if (interrupts.length > 0) {
      const runId = (await this.#parts.store.threads.get(ref))?.checkpoint?.runId ?? run.runId
      return this.#ask(ref, runId, interrupts, false)
    }
    if (error?.code !== 'LEASE_LOST') await this.#forget(ref)
    if (error) return inThread(offered, failedAndReported(this.#parts, error), ref.threadId)
    if (openCallIds.length > 0) return inThread(offered, failedBy({ code: 'PENDING_TOOL_CALLS' }), ref.threadId)
    return resultOf(offered, end, ref.threadId, answerChars)
  }

  /** A tool has no conversation, so nothing is left of its call. */
  async #forget(ref: ThreadRef): Promise<void> {
    if (this.#request.offered.kind === 'agent') return
    await this.#parts.store.threads.delete(ref).catch((error: unknown) => this.#parts.report(KernelError.from(error)))
  }

  /** Contract: the question stays with a conversation, and with a call that its client has named. */
  async #unanswered(ref: ThreadRef, open: readonly Interrupt[], why: string): Promise<Answered> {
    const { offered, ctx } = this.#request
    if (ctx.mcpReq._meta?.[THREAD_KEY] === undefined) await this.#forget(ref)
    return unanswered(offered, ref.threadId, open, why)
  }

  async #ask(ref: ThreadRef, runId: string, open: readonly Interrupt[], withMessage: boolean): Promise<Answered> {
    const { offered, capabilities } = this.#request
    if (!canBeAsked(capabilities)) {
      return this.#unanswered(ref, open, 'A person has to answer first, and this client cannot ask:')
    }
    const requestState = stateFor(offered, ref.threadId, runId, withMessage)
    return inputRequired({ inputRequests: inputRequests(open), requestState })
  }
}
