import type { RunAgentInput } from '@ag-ui/core'
import {
  type Additions,
  type ForkPoint,
  type JsonObject,
  KernelError,
  type Message,
  type RunInput,
  type Thread,
  type ThreadCommit,
  type ThreadRef,
  type ThreadStore,
  type ToolMessage,
  type ToolMeta,
  type UserMessage,
} from '@troupe/kernel'
import { got, pages } from '@troupe/kernel/kit'
import { clientProxyTool } from '../client-tools/client-proxy-tool.ts'
import { prefixedToolset } from '../client-tools/client-proxy-toolset.ts'
import type { ClientToolOptions } from '../client-tools/client-tool-options.ts'
import { addedInstruction, type SystemMessageMode } from '../input/added-instruction.ts'
import type { Room } from '../input/kernel-content.ts'
import { sortMessages } from '../input/sort-messages.ts'
import { type ClientStateMode, stateChange } from '../input/state-change.ts'
import type { ToolResultMode } from '../input/tool-result.ts'
import { answerMark, answersOf, type GivenAnswers, openInterrupts, takenAnswers } from './answers-of.ts'
import { askedAgain, editOf } from './asked-again.ts'
import type { Place } from './place-in-thread.ts'

/** The plan for a request. */
export type RunPlan =
  /** Nothing is new: a bare start and finish. The state is ignored, because a repeated request carries the state from before its run. */
  | { readonly kind: 'nothing'; readonly notOpen: readonly string[]; readonly processed: readonly string[] }
  | {
      readonly kind: 'run'
      readonly input: RunInput
      /** Where the thread is cut first. */
      readonly cut?: ForkPoint
      /** Whether the client shows a message that is cut off: then it gets the messages as they are. */
      readonly takesBack?: boolean
      /** Of a run that brings nothing new: calls with a result that are not open. */
      readonly notOpen?: readonly string[]
    }
  | {
      readonly kind: 'resume'
      readonly given: GivenAnswers
      readonly additions: Additions
      /** Results of client tools in the same request. */
      readonly results: readonly ToolMessage[]
      /** User messages in the same request, which come after the answers. */
      readonly users: readonly UserMessage[]
      readonly change: RunInput['state']
      /** Processed once the answers are taken. */
      readonly processed: readonly string[]
    }

/** The facts that a plan is made from. */
interface Facts {
  readonly input: RunAgentInput
  readonly thread: Thread | undefined
  /** Which of `foreignIds(input)` are done. */
  readonly done: ReadonlySet<string>
  /** Which of its messages the thread has. */
  readonly stored: ReadonlySet<string>
  readonly now: number
  readonly hidden: (key: string) => boolean
  readonly toolResults: ToolResultMode
  readonly systemMessages: SystemMessageMode
  readonly clientState: ClientStateMode
  readonly clientTools: ClientToolOptions
  /** The room for new messages. */
  readonly room: () => Room
  /** Where the thread and the client part. */
  readonly place: Place | undefined
  /** The message in whose place the new user messages are. */
  readonly replaced: ForkPoint | undefined
}

/** The ids by which a repeated request is recognised. */
export function foreignIds({ messages, resume = [] }: RunAgentInput): readonly string[] {
  return [...messages.map(({ id }) => id), ...resume.map(({ interruptId }) => answerMark(interruptId))]
}

/** Decides what to do with a request. Contract: changes nothing; throws coded errors about the request. */
export function planRun(facts: Facts): RunPlan {
  const { input, thread, done, stored, now, hidden, toolResults, systemMessages, clientState, clientTools, room } =
    facts
  const openCalls = thread?.openCalls ?? []
  const sorted = sortMessages(input, openCalls, { done, stored }, toolResults, room())
  const change = stateChange(input, thread?.state ?? {}, hidden, clientState)
  const additions = additionsOf(input, stillOpen(openCalls, sorted.results), systemMessages, clientTools)
  const { resume = [] } = input
  const given =
    resume.length > 0 ? answersOf(resume, openInterrupts(thread), union(done, takenAnswers(thread)), now) : undefined
  const { results, users, processed, notOpen } = sorted
  if (given) {
    const answered = [...Object.keys(given.answers), ...given.closed].map(answerMark)
    return { kind: 'resume', given, additions, results, users, change, processed: [...processed, ...answered] }
  }
  const messages: readonly Message[] = [...results, ...users]
  const again = messages.length === 0 ? askedAgain(input, facts.place, thread, room()) : undefined
  if (messages.length === 0 && !again) return nothingNew(facts, { notOpen, processed })
  const run = { additions, ...(change && { state: change }) }
  if (!again) {
    if (results.length > 0) return planned({ ...run, messages, processed }, undefined, input)
    const edited = facts.place && editOf(input.messages, facts.place, room())
    const all = [...(edited?.users ?? []), ...messages]
    return planned({ ...run, messages: all, processed }, edited?.cut ?? facts.replaced, input)
  }
  const { users: edited, cut, takesBack = false } = again
  return { ...planned({ ...run, messages: edited, processed }, cut, input), takesBack, notOpen }
}

/** Contract: a request that repeats the one of a run which has ended without an answer must not look like one that was answered. */
function nothingNew({ place, input }: Facts, plan: Omit<RunPlan & { kind: 'nothing' }, 'kind'>): RunPlan {
  const unanswered = place?.last.role === 'user' && place.ends && place.after.length === 0
  if (unanswered && place.runIds.has(input.runId)) throw runIdTaken(input)
  return { kind: 'nothing', ...plan }
}

/** The error of a request with the id of a run that has begun: it is followed, or continued if its process is gone. */
export function runIdTaken({ runId }: Pick<RunAgentInput, 'runId'>): KernelError {
  return new KernelError(
    'RUN_ID_TAKEN',
    `run ${runId}: the thread has a run with this id that has not answered; use a new runId`,
  )
}

/** A run, after its thread was cut somewhere. Contract: then all messages are marked again, because the cut takes away what was noted after it. */
function planned(run: RunInput, cut: ForkPoint | undefined, { messages }: RunAgentInput): RunPlan & { kind: 'run' } {
  if (!cut) return { kind: 'run', input: run }
  return { kind: 'run', input: { ...run, processed: messages.map(({ id }) => id) }, cut }
}

function union(a: ReadonlySet<string>, b: readonly string[]): ReadonlySet<string> {
  return b.length === 0 ? a : new Set([...a, ...b])
}

function stillOpen(openCalls: Thread['openCalls'], results: readonly ToolMessage[]): Thread['openCalls'] {
  return openCalls.filter(({ callId }) => !results.some((result) => result.callId === callId))
}

/** What a request adds to its root agent: an instruction, and the tools of the client. */
export function additionsOf(
  input: RunAgentInput,
  waiting: Thread['openCalls'],
  systemMessages: SystemMessageMode,
  { prefix = '' }: ClientToolOptions,
): Additions {
  const tools: ToolMeta[] = [...prefixedToolset(input.tools, prefix)]
  // A call stays open although the client does not list its tool this time; while it waits, no model is asked that could call it.
  for (const { name } of waiting) {
    if (tools.some(({ tool }) => tool.name === name)) continue
    tools.push({ tool: clientProxyTool({ name, description: '' }), returnDirectly: false })
  }
  const instruction = addedInstruction(input, systemMessages)
  return { ...(instruction !== '' && { instruction }), ...(tools.length > 0 && { tools }) }
}

/** The state that a run begins with. */
export function changedState(state: JsonObject, change: RunInput['state']): JsonObject {
  const changed = { ...state, ...change?.set }
  for (const key of change?.removed ?? []) delete changed[key]
  return changed
}

/** Makes the commit that stores results in a thread that also waits for answers. */
export function resultsCommit(results: readonly ToolMessage[]): (thread: Thread) => ThreadCommit {
  return ({ openCalls, checkpoint }) => {
    const taken = results.filter(({ callId }) => openCalls.some((call) => call.callId === callId))
    return {
      messages: taken.map((message) => ({ runId: checkpoint?.runId ?? message.callId, message })),
      openCalls: openCalls.filter(({ callId }) => !taken.some((result) => result.callId === callId)),
      processed: results.map(({ id }) => id),
    }
  }
}

const PAGE = 200

/** Checks that the thread made these calls, which are no longer open. Contract: throws `TOOL_CALL_UNKNOWN` for the first that it never made. */
export async function checkCalls(
  threads: ThreadStore,
  ref: ThreadRef,
  callIds: readonly string[],
  thread: Thread | undefined,
): Promise<void> {
  if (callIds.length === 0) return
  const unknown = new Set(callIds)
  for await (const page of pages(PAGE, (query) => threads.messages(ref, { newestFirst: true, ...query }))) {
    for (const { message } of page) {
      if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) unknown.delete(id)
    }
    if (unknown.size === 0) return
  }
  const [callId] = unknown
  const open = thread?.openCalls.map((call) => call.callId) ?? []
  const message = `run: expected the result of a tool call of this thread, ${got(callId)}`
  throw new KernelError('TOOL_CALL_UNKNOWN', message, { details: { callId: callId as string, open } })
}
