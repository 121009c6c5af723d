import {
  type Answers,
  type Checkpoint,
  type Clock,
  KernelError,
  type Message,
  type RunInput,
  type Thread,
} from '@troupe/kernel'
import type { FlowAgent } from '../tree/flow-agent.ts'
import type { Resumption } from '../tree/flow-outcome.ts'
import { askedIn, brokenOff, checkAnswers, readCheckpoint, resumptionOf } from './checkpoint.ts'
import type { ThreadOpenCall } from './thread-messages.ts'

/** How a run begins on a thread. */
export interface Opening {
  /** What comes into the history before the agents speak. */
  readonly messages: readonly Message[]
  readonly resumption?: Resumption
  /** What the run goes on from. */
  readonly checkpoint?: Checkpoint
  /** What is open is answered neutrally first. */
  readonly drops?: true
}

/** What a user message does to questions and calls that are open. */
export type PendingPolicy = 'reject' | 'drop'

/** Contract: throws before anything has changed. */
export async function openWithAnswers(
  agent: FlowAgent,
  thread: Thread | undefined,
  answers: Answers,
  clock: Clock,
): Promise<Opening> {
  const former = thread && brokenOff(thread)
  if (former !== undefined) {
    const message = `resume: run ${former} took the answers and did not end; go on with a message`
    throw new KernelError('INTERRUPT_UNKNOWN', message, { details: { open: [], resumedBy: former } })
  }
  const checkpoint = thread && readCheckpoint(agent, thread)
  await checkAnswers(answers, checkpoint?.interrupts ?? [], clock.now())
  return { messages: [], ...(checkpoint && { checkpoint, resumption: resumptionOf(checkpoint, answers) }) }
}

/** Contract: throws before anything has changed; results of open calls continue where they were asked for. */
export function openWithInput(
  agent: FlowAgent,
  thread: Pick<Thread, 'openCalls' | 'checkpoint'>,
  { messages }: RunInput,
  policy: PendingPolicy,
): Opening {
  const answered = resultsIn(messages, thread)
  const waiting = thread.openCalls.filter(({ callId }) => !answered.has(callId))
  const asked = askedIn(thread)
  const given = resultsFirst(messages, answered, thread)
  if (thread.checkpoint === undefined && thread.openCalls.length === 0) return { messages: given }
  if (brokenOff(thread) !== undefined) return { messages: given, drops: true }
  const complete = answered.size > 0 && waiting.length === 0 && asked.length === 0
  if (!complete && messages.some(({ role }) => role !== 'tool')) {
    if (policy === 'reject') {
      readCheckpoint(agent, thread)
      throw pending(waiting, asked)
    }
    return { messages: given, drops: true }
  }
  const checkpoint = readCheckpoint(agent, thread)
  return { messages: given, ...(checkpoint && { checkpoint, resumption: resumptionOf(checkpoint) }) }
}

/** A result stands behind its call, whatever else has come with it, and says whose it is. */
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

/** The open calls that an input answers; a result for anything else is refused. */
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
      const why = answered.has(callId) ? 'is answered twice' : 'is not open in this thread'
      throw new KernelError('TOOL_CALL_UNKNOWN', `run: call ${callId} ${why}; open are ${ids.join(', ') || 'none'}`, {
        details: { callId, open: ids },
      })
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
    `run: the thread waits for ${open}; give the results, resume with answers, or drop them with pending: 'drop'`,
    { details: { callIds, interruptIds } },
  )
}
