import type { Interrupt } from '@ag-ui/client'
import type { ComponentType, ReactNode } from 'react'
import type { Attachment, CallItem, NoteItem, TextItem, UserItem } from '../thread/item.ts'

/** What the text of an answer is shown from. */
export interface TextProps {
  readonly text: string
}

/** What a message of the user is shown from. */
export interface UserMessageProps {
  readonly item: UserItem
}

/** What the actions of a message of the user are shown from. */
export interface UserActionsProps {
  readonly item: UserItem
  readonly onEdit: () => void
}

/** What a message of an agent is shown from. */
export interface AgentMessageProps {
  readonly item: TextItem
  /** Whether the message before is of the same agent. */
  readonly continues: boolean
}

/** What a call is shown from. */
export interface CallProps {
  readonly item: CallItem
  /** What a sub-agent does in this call, if it is one. */
  readonly children?: ReactNode
}

/** What a question is shown from. */
export interface QuestionProps {
  readonly question: Interrupt
  /** The call that asks; a question of an agent or a handler has none. */
  readonly item?: CallItem | undefined
}

/** What a note is shown from. */
export interface NoteProps {
  readonly item: NoteItem
}

/** What the files of a message are shown from. */
export interface FilesProps {
  readonly files: readonly Attachment[]
}

/** The parts of a conversation, each of which an app can replace. */
export interface ConversationComponents {
  /** The text of an answer. */
  readonly Text: ComponentType<TextProps>
  readonly UserMessage: ComponentType<UserMessageProps>
  readonly AgentMessage: ComponentType<AgentMessageProps>
  /** A call without an open question. */
  readonly Call: ComponentType<CallProps>
  /** A question, whatever it asks. */
  readonly Question: ComponentType<QuestionProps>
  readonly Note: ComponentType<NoteProps>
  readonly Files: ComponentType<FilesProps>
  /** What a person can do with a message of theirs: change it. */
  readonly UserActions: ComponentType<UserActionsProps>
  /** What a person can do with the last answer: have it made again. */
  readonly AnswerActions: ComponentType
}
