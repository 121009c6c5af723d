/** A message of the user. */
export interface UserItem {
  readonly kind: 'user'
  readonly id: string
  readonly text: string
}

/** A message of an agent, which grows while it streams. */
export interface TextItem {
  readonly kind: 'text'
  readonly id: string
  readonly runId: string
  readonly agent: string
  text: string
  thought: string
  done: boolean
}

/** A tool call. The call of a sub-agent has the items of its run inside. */
export interface CallItem {
  readonly kind: 'call'
  readonly id: string
  readonly runId: string
  readonly agent: string
  readonly name: string
  args: string
  status: 'running' | 'waiting' | 'done' | 'failed' | 'stopped'
  /** What the tool has told while it runs. */
  progress?: string
  result?: string
  data?: unknown
  inside?: Item[]
}

/** A note about the end of a run. */
export interface NoteItem {
  readonly kind: 'note'
  readonly id: string
  readonly text: string
  readonly tone: 'quiet' | 'bad'
}

export type Item = UserItem | TextItem | CallItem | NoteItem

/** Parses the arguments of a call; incomplete ones are empty. */
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
