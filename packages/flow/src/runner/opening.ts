import {
  type Answers,
  type Checkpoint,
  type Clock,
  type ClosedQuestions,
  KernelError,
  type Message,
  type RunInput,
  type Thread,
} from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import type { FlowNode } from '../tree/flow-node.ts'
import type { Resumption } from '../tree/flow-outcome.ts'
import { checkAnswers, openQuestions, readCheckpoint, resumptionOf, unfinishedRun } from './checkpoint.ts'
import type { OpenedRun } from './run-journal.ts'
import type { ThreadOpenCall } from './thread-messages.ts'

/** How a run starts on a thread. */
export interface Opening {
  /** Messages that are added to the history before the agents run. */
  readonly messages: readonly Message[]
  /** Messages that follow the results of the calls that run again. */
  readonly next?: readonly Message[]
  readonly resumption?: Resumption
  /** The checkpoint that the run continues from. */
  readonly checkpoint?: Checkpoint
  /** Whether open calls get a neutral result first. */
  readonly drops?: true
  /** Set if the run goes on after its process died: its messages are in the thread. */
  readonly continues?: true
}

/** How a run treats open questions and calls when a user message comes: it is refused, or it drops them. */
export type PendingPolicy = 'reject' | 'drop'

/** The answers of a run and those of the questions that it closes. */
type GivenAnswers = { readonly answers: Answers } & ClosedQuestions

/** Adds the answers of closed questions. */
export function withClosed(answers: Answers, closed: readonly string[] | undefined): GivenAnswers {
  if (!closed) return { answers }
  return { answers: { ...answers, ...Object.fromEntries(closed.map((id) => [id, null])) }, closed }
}

/** Starts a run with answers, and with messages beside them. Contract: throws before anything changes; a checkpoint that cannot be read is dropped if all its questions are closed. */
export async function openWithAnswers(
  agent: FlowNode,
  thread: Thread | undefined,
  { answers, closed = [], input: { messages = [] } }: GivenAnswers & { readonly input: Partial<RunInput> },
  clock: Clock,
): Promise<Opening> {
  checkUsers(messages)
  const former = thread && unfinishedRun(thread)
  if (former !== undefined) {
    const message = `resume: run ${former} has already taken the answers and did not end; continue with a message`
    throw new KernelError('INTERRUPT_UNKNOWN', message, { details: { open: [], resumedBy: former } })
  }
  let checkpoint: Checkpoint | undefined
  try {
    checkpoint = thread && readCheckpoint(agent, thread)
  } catch (error) {
    if (!thread || closed.length === 0 || !openQuestions(thread).every(({ id }) => closed.includes(id))) throw error
    return { messages, drops: true }
  }
  await checkAnswers(answers, checkpoint?.interrupts ?? [], clock.now(), closed)
  if (!checkpoint) return { messages }
  const next = [...(checkpoint.next ?? []), ...messages]
  return { messages: [], checkpoint, resumption: resumptionOf(checkpoint, answers), ...(next.length > 0 && { next }) }
}

/** Contract: throws `VALIDATION_FAILED` for anything but user messages; results of calls come before answers. */
function checkUsers(messages: readonly Message[]): void {
  const other = messages.find(({ role }) => role !== 'user')
  if (!other) return
  throw new KernelError('VALIDATION_FAILED', `resume: expected user messages beside the answers, ${got(other.role)}`)
}

/** Opens a run again whose process died. */
export function openAgain(
  agent: FlowNode,
  thread: Thread,
  { answers, next }: Pick<OpenedRun, 'answers' | 'next'>,
): Opening {
  const found = readCheckpoint(agent, thread)
  if (!found) return { messages: [], continues: true }
  const { resumedBy: _, ...checkpoint } = found
  const resumption = resumptionOf(checkpoint, answers)
  return { messages: [], continues: true, checkpoint, resumption, ...(next && { next }) }
}

/** Starts a run with messages. Contract: throws before anything changes; results of open calls go to the agent that made the calls. */
export function openWithInput(
  agent: FlowNode,
  thread: Pick<Thread, 'openCalls' | 'checkpoint' | 'forkedFrom'>,
  { messages }: RunInput,
  policy: PendingPolicy,
): Opening {
  const answered = resultsIn(messages, thread)
  const waiting = thread.openCalls.filter(({ callId }) => !answered.has(callId))
  const asked = openQuestions(thread)
  const given = resultsFirst(messages, answered, thread)
  if (thread.checkpoint === undefined && thread.openCalls.length === 0) {
    // A branch may end with calls whose results its source got later.
    return thread.forkedFrom ? { messages: given, drops: true } : { messages: given }
  }
  const next = thread.checkpoint?.next ?? []
  if (unfinishedRun(thread) !== undefined) return { messages: [...next, ...given], drops: true }
  const complete = answered.size > 0 && waiting.length === 0 && asked.length === 0
  if (!complete && messages.some(({ role }) => role !== 'tool')) {
    if (policy === 'reject') {
      readCheckpoint(agent, thread)
      throw pending(waiting, asked)
    }
    return { messages: [...next, ...given], drops: true }
  }
  const checkpoint = readCheckpoint(agent, thread)
  if (!checkpoint) return { messages: given }
  const resumption = resumptionOf(checkpoint)
  if (next.length === 0) return { messages: given, checkpoint, resumption }
  const results = given.filter(({ role }) => role === 'tool')
  const later = [...next, ...given.filter(({ role }) => role !== 'tool')]
  return { messages: results, checkpoint, resumption, next: later }
}

/** Moves results of open calls to the front, so that they follow their calls, and adds the name of the agent that made the call. */
function resultsFirst(
  messages: readonly Message[],
  answered: ReadonlySet<string>,
  { openCalls }: Pick<Thread, 'openCalls'>,
): readonly Message[] {
  if (answered.size === 0) return messages
  const results: Message[] = []
  const others: Message[] = []
  for (const message of messages) {
    const call = message.role === 'tool' && answered.has(message.callId) && callOf(message.callId, openCalls)
    if (call) results.push({ agentName: call.agentName, ...message })
    else others.push(message)
  }
  return [...results, ...others]
}

function callOf(callId: string, calls: readonly ThreadOpenCall[]): ThreadOpenCall | undefined {
  return calls.find((call) => call.callId === callId)
}

/** The ids of the open calls that the input has results for. Contract: throws for a result of any other call. */
function resultsIn(messages: readonly Message[], { openCalls }: Pick<Thread, 'openCalls'>): ReadonlySet<string> {
  const made = new Set(
    messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : [])).map(({ id }) => id),
  )
  const answered = new Set<string>()
  for (const message of messages) {
    if (message.role !== 'tool' || made.has(message.callId)) continue
    const { callId } = message
    if (!callOf(callId, openCalls) || answered.has(callId)) {
      const ids = openCalls.map((call) => call.callId)
      const why = answered.has(callId) ? 'has two results' : 'is not open in this thread'
      throw new KernelError(
        'TOOL_CALL_UNKNOWN',
        `run: call ${callId} ${why}; open calls are ${ids.join(', ') || 'none'}`,
        {
          details: { callId, open: ids },
        },
      )
    }
    answered.add(callId)
  }
  return answered
}

function pending(waiting: readonly ThreadOpenCall[], asked: readonly { readonly id: string }[]): KernelError {
  const callIds = waiting.map(({ callId }) => callId)
  const interruptIds = asked.map(({ id }) => id)
  const open = [...callIds, ...interruptIds].join(', ')
  return new KernelError(
    'PENDING_TOOL_CALLS',
    `run: the thread waits for ${open}; send the results, resume with answers, or drop them with pending: 'drop'`,
    { details: { callIds, interruptIds } },
  )
}
