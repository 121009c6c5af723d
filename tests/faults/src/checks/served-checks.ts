import { isDeepStrictEqual } from 'node:util'
import type { AgUiEvent } from '@troupe/ag-ui'
import { type Store, textOf } from '@troupe/kernel'
import { reconcile } from '@troupe/persistence'
import { userMessagesIn } from '../conversation/bookkeeper.ts'
import type { Effect } from '../conversation/effects.ts'
import type { Talker } from '../served/talker.ts'
import type { Turn } from '../served/turn.ts'
import type { Findings } from './findings.ts'
import { checkCalls, checkEffects, checkRecords } from './invariants.ts'
import { joined } from './joined.ts'
import { type Snapshot, snapshot } from './snapshot.ts'

/** Checks the thread of a talker against what it saw. Contract: for a thread whose servers have stopped. */
export async function checkServed(
  findings: Findings,
  store: Store,
  { ref, turns }: Talker,
  effects: readonly Effect[],
): Promise<void> {
  await reconcile({ store, before: Number.MAX_SAFE_INTEGER, threads: [ref] })
  const runIds = turns.map(({ runId }) => runId)
  const shot = await snapshot(store, ref, runIds)
  const history = shot.messages.map(({ message }) => message)
  findings.unique(
    'a message is stored once',
    history.map(({ id }) => id),
  )
  // A run that failed because its lease was lost is open until the next message.
  const isOpen = turns.at(-1)?.acknowledged && shot.thread?.unfinished !== undefined
  findings.check('no run is left open', !isOpen, shot.thread?.unfinished)
  const said = history.flatMap(({ role, id }) => (role === 'user' ? [id] : []))
  const sent = turns.map(({ message }) => message.id).filter((id) => said.includes(id))
  findings.check('messages are in the order in which they were sent', isDeepStrictEqual(said, sent), said)
  for (const turn of turns) checkTurn(findings, shot, turn)
  checkCalls(findings, shot)
  checkRecords(findings, shot)
  checkEffects(findings, shot, effects)
}

function checkTurn(findings: Findings, { messages, logs }: Snapshot, turn: Turn): void {
  const { runId, message, seen } = turn
  findings.check(`${runId}: it has an end`, turn.ended, seen.at(-1))
  const log = (logs.get(runId) ?? []).map(({ event }) => event as unknown as AgUiEvent)
  const ends = log.filter(({ type }) => /^RUN_(FINISHED|ERROR)$/.test(type))
  findings.check(`${runId}: it ends once`, ends.length === 1 && ends[0] === log.at(-1), ends)
  findings.check(`${runId}: its client saw its log`, isDeepStrictEqual(joined(log), joined(seen)), [
    joined(log),
    joined(seen),
  ])
  if (!turn.acknowledged) return
  const place = messages.findIndex((stored) => stored.message.id === message.id)
  findings.check(`${runId}: an acknowledged message is there`, messages[place]?.runId === runId, message)
  const answer = messages.findLast((stored) => stored.runId === runId)?.message
  const before = messages.slice(0, place + 1).map((stored) => stored.message)
  const text = answer?.role === 'assistant' ? textOf(answer.content) : ''
  findings.check(`${runId}: its answer is there`, text === textSeen(turn) && text !== '', [text, textSeen(turn)])
  const heard = `; heard ${userMessagesIn(before)}`
  findings.check(`${runId}: it was answered with the whole history`, text.endsWith(heard), [text, heard])
}

/** The text of the last message that a client saw. */
function textSeen({ seen }: Turn): string {
  const last = seen.findLast((event) => event.type === 'TEXT_MESSAGE_START')
  if (last?.type !== 'TEXT_MESSAGE_START') return ''
  return seen
    .flatMap((event) =>
      event.type === 'TEXT_MESSAGE_CONTENT' && event.messageId === last.messageId ? event.delta : [],
    )
    .join('')
}
