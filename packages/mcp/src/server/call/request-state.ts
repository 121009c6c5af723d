import type { Interrupt, Owner, Store, Thread, ThreadRef } from '@troupe/kernel'
import type { OfferedTool } from './offered-tool.ts'

const PREFIX = 'troupe:'
const STATE = /^troupe:([\w.-]{1,128}):([mq]):([^:]{1,1000}):([^:]{1,1000})$/

/** The questions of a thread that wait for a client. */
export interface OpenQuestions {
  readonly offered: OfferedTool
  readonly ref: ThreadRef
  readonly interrupts: readonly Interrupt[]
  /** The run that has asked. */
  readonly runId: string
  /** Whether the message of the call still has to be said. */
  readonly withMessage: boolean
  /** The run that has taken the answers, and broke off. */
  readonly takenBy?: string
}

/** Names the questions of a thread, for a client to send back with its answers. Contract: no secret; a thread is found for its owner alone. */
export function stateFor(offered: OfferedTool, threadId: string, runId: string, withMessage: boolean): string {
  const mode = withMessage ? 'm' : 'q'
  return `${PREFIX}${offered.name}:${mode}:${encodeURIComponent(threadId)}:${encodeURIComponent(runId)}`
}

/** Whether a state could be one of ours. */
export function isOurState(state: string): boolean {
  return state.startsWith(PREFIX)
}

/** Finds the questions that a state names. Contract: undefined for anything that is not open for this user, whatever the reason. */
export async function questionsOf(
  state: string,
  find: (name: string) => OfferedTool | undefined,
  ownerFor: (offered: OfferedTool) => Owner,
  threads: Store['threads'],
): Promise<OpenQuestions | undefined> {
  const [, name, mode, ...ids] = STATE.exec(state) ?? []
  const [threadId, runId] = ids.map(decoded)
  const offered = name === undefined ? undefined : find(name)
  if (!offered || threadId === undefined) return undefined
  const ref = { ...ownerFor(offered), threadId }
  const checkpoint = (await threads.get(ref))?.checkpoint
  if (!checkpoint || runId === undefined || checkpoint.runId !== runId) return undefined
  const { interrupts, resumedBy } = checkpoint
  const withMessage = mode === 'm'
  return { offered, ref, interrupts, runId, withMessage, ...(resumedBy !== undefined && { takenBy: resumedBy }) }
}

/** Contract: undefined for what nobody has encoded. */
function decoded(id: string): string | undefined {
  try {
    return decodeURIComponent(id)
  } catch {
    return undefined
  }
}

/** The questions of a thread that nobody has answered. */
export function openInterrupts(thread: Pick<Thread, 'checkpoint'>): readonly Interrupt[] {
  const { checkpoint } = thread
  return checkpoint && checkpoint.resumedBy === undefined ? checkpoint.interrupts : []
}
