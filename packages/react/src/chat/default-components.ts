import { AgentMessage } from './agent-message.tsx'
import { Call } from './call.tsx'
import type { ConversationComponents } from './components.ts'
import { Files } from './files.tsx'
import { Markdown } from './markdown.tsx'
import { AnswerActions, UserActions } from './message-actions.tsx'
import { Note } from './note.tsx'
import { Question } from './question.tsx'
import { UserMessage } from './user-message.tsx'

export const DEFAULT_COMPONENTS: ConversationComponents = {
  Text: Markdown,
  UserMessage,
  AgentMessage,
  Call,
  Question,
  Note,
  Files,
  UserActions,
  AnswerActions,
}
