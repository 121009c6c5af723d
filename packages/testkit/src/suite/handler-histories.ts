import type { Message } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { frozen } from './patience.ts'

/** A turn: how many tools the model calls at once, round after round, until it answers. */
type Turn = readonly number[]

/** One call a turn, several calls at once, several rounds of calls, turns without a call. */
const CONVERSATIONS: readonly (readonly Turn[])[] = [
  [[1], [1], [1], [1]],
  [[], [2], [], [3, 1]],
  [[3], [], [2, 2]],
  [
    [1, 2, 1],
    [1, 1],
  ],
]

/** About a hundred messages, shifted against each other, so that wherever a fixed number of messages is cut off, one of them loses half a pair. */
const LONG: readonly (readonly Turn[])[] = [0, 1, 2].map((shift) => [
  ...Array.from({ length: shift }, () => []),
  ...Array.from({ length: 17 }, () => [3]),
  [],
  [],
])
const LONGEST_PREFIXES = 8

/** Histories of many shapes and lengths, as they are before a model is called. Contract: in each, every call has its result. */
export function soundHistories(given: readonly Message[]): Histories {
  return [...prefixes(given, isSound), ...SOUND]
}

/** Histories as they are after a model was called: the last message is its own, and its calls have no results yet. */
export function answeredHistories(given: readonly Message[]): Histories {
  return [given, ...prefixes(given, isAnswered), ...ANSWERED]
}

type Histories = readonly (readonly Message[])[]
type Fits = (history: readonly Message[]) => boolean

const isSound: Fits = (history) => repairHistory(history) === history
const isAnswered: Fits = (history) => history.at(-1)?.role === 'assistant'

const SOUND = frozen([[], ...builtIn(isSound)])
const ANSWERED = frozen(builtIn(isAnswered))

function builtIn(fits: Fits): Histories {
  return [
    ...CONVERSATIONS.flatMap((turns) => prefixes(conversation(turns), fits)),
    ...LONG.flatMap((turns) => prefixes(conversation(turns), fits).slice(-LONGEST_PREFIXES)),
  ]
}

function prefixes(messages: readonly Message[], fits: Fits): Histories {
  return messages.map((_, i) => frozen(messages.slice(0, i + 1))).filter(fits)
}

function conversation(turns: readonly Turn[]): readonly Message[] {
  let last = 0
  const id = () => `m${++last}`
  return turns.flatMap((rounds, turn): Message[] => [
    { id: id(), role: 'user', content: `Question ${turn + 1}` },
    ...rounds.flatMap((calls, round): Message[] => {
      const toolCalls = Array.from({ length: calls }, (_, i) => ({
        id: `c${turn}-${round}-${i}`,
        name: 'echo',
        arguments: JSON.stringify({ text: `${turn} ${round} ${i}` }),
      }))
      return [
        { id: id(), role: 'assistant', content: '', toolCalls },
        ...toolCalls.map(
          (call): Message => ({ id: id(), role: 'tool', callId: call.id, name: 'echo', content: call.id }),
        ),
      ]
    }),
    { id: id(), role: 'assistant', content: `Answer ${turn + 1}` },
  ])
}
