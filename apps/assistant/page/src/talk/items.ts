/** What the user said. */
export interface UserItem {
  readonly kind: 'user'
  readonly id: string
  readonly text: string
}

/** What an agent says; it grows while it is said. */
export interface SpeechItem {
  readonly kind: 'speech'
  readonly id: string
  readonly runId: string
  readonly agent: string
  text: string
  thought: string
  done: boolean
}

/** A call of a tool. A sub-agent is a call with something going on inside. */
export interface CallItem {
  readonly kind: 'call'
  readonly id: string
  readonly runId: string
  readonly agent: string
  readonly name: string
  args: string
  status: 'running' | 'waiting' | 'done' | 'failed' | 'stopped'
  result?: string
  data?: unknown
  inside?: Item[]
}

/** How a run ended, where that is worth a word. */
export interface NoteItem {
  readonly kind: 'note'
  readonly id: string
  readonly text: string
  readonly tone: 'quiet' | 'bad'
}

export type Item = UserItem | SpeechItem | CallItem | NoteItem

/** The arguments of a call, as far as they have come. */
export function argsOf(args: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(args || '{}')
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {}
  } catch {
    return {}
  }
}
