import { EventType } from '@ag-ui/core'
import type { Clock } from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames } from '@troupe/kernel/kit'
import type { AgUiEvent } from '../protocol.ts'
import { FEATURE_OF } from './feature-of.ts'
import type { Omissible } from './left-out.ts'

/** An argument of a tool that a page shows as state while the model writes it. */
export interface PredictState {
  readonly tool: string
  readonly argument: string
  readonly stateKey: string
}

/** What clients see of a run besides what it says and does. */
export interface ShowOptions {
  /** Whether a run ends with all messages, for clients that keep no stream. @default false */
  readonly messagesSnapshot?: boolean
  /** Announced to clients before the first call of each tool, as `CUSTOM` `PredictState`. @default none */
  readonly predictState?: readonly PredictState[]
  /** Kinds of events and messages that are left out, and the text of structured output. @default none */
  readonly omit?: readonly Omissible[]
  /** Whether each event has the time at which it was made, in milliseconds since the epoch. @default false */
  readonly timestamps?: boolean
}

const NAMES: OptionNames<ShowOptions> = { messagesSnapshot: true, predictState: true, omit: true, timestamps: true }
const OMISSIBLE: readonly unknown[] = [
  'reasoning',
  'activities',
  'subagents',
  'structured-output',
] satisfies Omissible[]

/** Contract: throws `CONFIG_INVALID` for options that clients could not read. */
export function checkShow(who: string, show: ShowOptions): void {
  checkOptionNames(`${who}: show`, show, NAMES)
  const { predictState = [], omit = [] } = show
  const isText = (text: unknown) => typeof text === 'string' && text !== ''
  const isFine = (entry: Partial<PredictState> | null) => [entry?.tool, entry?.argument, entry?.stateKey].every(isText)
  const fine = Array.isArray(predictState) && predictState.every(isFine)
  checkOption(fine, who, 'show.predictState must be a list of { tool, argument, stateKey }', predictState)
  const known = Array.isArray(omit) && omit.every((kind) => OMISSIBLE.includes(kind))
  checkOption(known, who, `show.omit must be a list of ${OMISSIBLE.join(', ')}`, omit)
}

/** What is done with the events of a run before clients get them. Contract: undefined if nothing is. */
export function finishing(
  show: ShowOptions,
  clock: Pick<Clock, 'now'>,
): ((events: AgUiEvent[]) => AgUiEvent[]) | undefined {
  const omit = omitting(show)
  if (!show.timestamps) return omit
  return (events) => {
    const timestamp = clock.now()
    return (omit?.(events) ?? events).map((event) => ({ ...event, timestamp }))
  }
}

/** Leaves out the events that clients are not to see; snapshots are made without such messages. */
function omitting({ omit = [] }: ShowOptions): ((events: AgUiEvent[]) => AgUiEvent[]) | undefined {
  if (omit.length === 0) return undefined
  const left: ReadonlySet<unknown> = new Set(omit)
  return (events) => events.filter(({ type }) => !left.has(FEATURE_OF[type]))
}

/** Announces the state that the arguments of tools are shown as. Contract: before the first call of each tool, with what was said of the others, because clients keep the last announcement. */
export class PredictedState {
  /** In the spelling that clients read. */
  readonly #value: readonly object[]
  readonly #waiting: Set<string>

  constructor(predictState: readonly PredictState[]) {
    this.#value = predictState.map(({ tool, argument, stateKey }) => ({
      state_key: stateKey,
      tool,
      tool_argument: argument,
    }))
    this.#waiting = new Set(predictState.map(({ tool }) => tool))
  }

  announce(tool: string, out: AgUiEvent[]): void {
    if (this.#waiting.delete(tool)) out.push({ type: EventType.CUSTOM, name: 'PredictState', value: this.#value })
  }
}
