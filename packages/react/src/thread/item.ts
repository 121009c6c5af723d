import type { Message } from '@ag-ui/client'
import type { FailureCode } from '../request/failure.ts'

/** What the user has said, as AG-UI keeps it: a text, or parts with files. */
export type UserContent = Extract<Message, { role: 'user' }>['content']

/** A file beside a text. */
export interface Attachment {
  readonly mediaType: string
  readonly name?: string
  /** An address of the file; files that were sent with a message have a `data:` address. */
  readonly url: string
}

/** A message of the user. */
export interface UserItem {
  readonly kind: 'user'
  readonly id: string
  readonly text: string
  readonly files: readonly Attachment[]
  readonly content: UserContent
  /** Whether the server has not taken it, so that `retry` sends it again. */
  readonly unsent: boolean
}

/** A message of an agent, which grows while it streams. */
export interface TextItem {
  readonly kind: 'text'
  readonly id: string
  /** Empty for a message from before the page was opened. */
  readonly runId: string
  readonly agent: string
  readonly text: string
  /** What the model thought before, if the server shows it. */
  readonly thought: string
  /** Files that the model has made. */
  readonly files: readonly Attachment[]
  readonly done: boolean
}

/** The state of a call: it runs, it waits for an answer, or it has ended. */
export type CallStatus = 'running' | 'waiting' | 'done' | 'failed' | 'stopped'

/** A tool call. The call of a sub-agent has the items of its run inside. */
export interface CallItem {
  readonly kind: 'call'
  readonly id: string
  readonly runId: string
  readonly agent: string
  readonly name: string
  /** The arguments as JSON, incomplete while they stream; `argsOf` reads them. */
  readonly args: string
  readonly status: CallStatus
  /** What the tool has told while it runs. */
  readonly progress?: string
  readonly result?: string
  /** The result for a program, if the tool gives one. */
  readonly data?: unknown
  readonly inside?: readonly Item[]
}

/** What a note says. */
export type NoteCode = 'stopped' | 'cut-off' | 'went-on' | 'failed' | FailureCode

/** A note about a run: it was stopped, it failed, another server went on with it. */
export interface NoteItem {
  readonly kind: 'note'
  readonly id: string
  /** Contract: the labels have a text for it, or else `text` is shown. */
  readonly code: NoteCode
  /** What the server says. */
  readonly text?: string
  readonly tone: 'quiet' | 'bad'
}

/** One thing in a conversation. Contract: an item that has changed is another object, and others stay the same. */
export type Item = UserItem | TextItem | CallItem | NoteItem
