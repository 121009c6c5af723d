import type { AgentEvent } from '@troupe/kernel'
import { unanswered } from '../transfer/history-faults.fixture.ts'
import { ANN, read } from './killable.fixture.ts'
import type { KilledConversation } from './killed-conversation.fixture.ts'
import { STARTED } from './scripted-tools.fixture.ts'

/** Says something new instead of continuing a run that was killed, and lists what is wrong then. */
export async function wrongAfterSettling(killed: KilledConversation): Promise<string[]> {
  const { runId = '' } = killed.requests.at(-1) ?? {}
  const done = killed.recorded().filter(({ name }) => name.startsWith(`${runId}/`))
  const stored = (await killed.thread())?.unfinished === runId
  const last = killed.startLast()
  const run = last.runner.query('Instead.', { session: ANN, runId: 'S', pending: 'drop' })
  const events = await read(run.eventsWithoutThrowing(), last)
  const thread = await killed.thread()
  const history = await killed.world.messages()
  const ids = history.map(({ id }) => id)
  const awaiting = [...(thread?.openCalls ?? []), ...(thread?.checkpoint?.interrupts ?? [])].map(({ callId }) => callId)
  return [
    ...killed.begun
      .filter(({ process, step }) => process === last.number && !step.startsWith('S/'))
      .map(({ step }) => `${step} was done while the run was settled`),
    ...(stored ? done.flatMap((entry) => missing(entry, runId, ids, history)) : []),
    ...unanswered(history, awaiting),
    ...(new Set(ids).size < ids.length ? ['a message is stored twice'] : []),
    ...(history.some(({ content }) => content === 'Instead.') ? [] : ['the new message is not stored']),
    ...(events.filter((event) => event.type === 'run-end' && event.runId === 'S').length === 1 ? [] : ['no end']),
    ...(thread?.unfinished === undefined && !(await killed.world.store.journal.read(ANN)) ? [] : ['a journal is left']),
  ]
}

type Done = ReturnType<KilledConversation['recorded']>[number]

/** What a finished step has given that is not in the history. */
function missing(
  { step, value }: Done,
  runId: string,
  ids: readonly string[],
  history: readonly { readonly content: unknown }[],
): string[] {
  const { parts, result, error, events } = value as {
    readonly parts?: unknown
    readonly result?: { readonly content: unknown }
    readonly error?: unknown
    readonly events?: readonly AgentEvent[]
  }
  // The steps of a nested run are in the result of its call.
  if (/tool:\d+:\d+[./]/.test(step) || error || String(result?.content).startsWith(STARTED)) return []
  if (parts) {
    const said = history.some(({ content }) => JSON.stringify(content).includes(`at ${step} `))
    return said ? [] : [`the answer of ${step} is lost`]
  }
  if (result) return ids.some((id) => id.startsWith(`${runId}/${step}#`)) ? [] : [`the result of ${step} is lost`]
  return (events ?? []).flatMap((event) =>
    event.type === 'message-end' &&
    (event.runId ?? runId) === runId &&
    !event.dropped &&
    !ids.includes(event.message.id)
      ? [`${event.message.id} is lost`]
      : [],
  )
}
