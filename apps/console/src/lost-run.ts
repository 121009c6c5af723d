import { type Store, type ThreadRef, textOf } from '@troupe/kernel'

/** A run of a conversation that has begun and not ended. */
export interface LostRun {
  /** What the user said last. */
  readonly asked: string
  readonly modelCalls: number
  readonly toolCalls: number
  /** Whether a process holds the conversation, or one that died a moment ago did. */
  readonly isHeld: boolean
}

/** The run of a conversation that has not ended, if there is one. */
export async function lostRunOf({ threads, journal }: Store, session: ThreadRef): Promise<LostRun | undefined> {
  const thread = await threads.get(session)
  if (thread?.unfinished === undefined) return undefined
  const rows = await threads.messages(session, { newestFirst: true, limit: 100 })
  const asked = rows.find(({ message }) => message.role === 'user')
  const steps = ((await journal.read(session))?.entries ?? []).map((entry) => String(Object(entry).step))
  const count = (kind: RegExp) => steps.filter((step) => kind.test(step)).length
  return {
    asked: asked ? textOf(asked.message.content) : '',
    modelCalls: count(/model:\d+$/),
    toolCalls: count(/tool:\d+:\d+$/),
    isHeld: thread.runId !== undefined,
  }
}

/** Says what is known of such a run. */
export function describeLostRun({ asked, modelCalls, toolCalls, isHeld }: LostRun): string {
  const done = `${numberOf(modelCalls, 'model call')} and ${numberOf(toolCalls, 'tool call')}`
  return isHeld
    ? `The run for "${asked}" has not ended, after ${done}: it is active elsewhere, or its process died less than half a minute ago.`
    : `The run for "${asked}" broke off after ${done}.`
}

function numberOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
