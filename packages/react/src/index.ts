export { AgentMessage } from './chat/agent-message.tsx'
export { Approval } from './chat/approval.tsx'
export { Call } from './chat/call.tsx'
export type {
  AgentMessageProps,
  CallProps,
  ConversationComponents,
  FilesProps,
  NoteProps,
  QuestionProps,
  TextProps,
  UserActionsProps,
  UserMessageProps,
} from './chat/components.ts'
export type { ComposerProps } from './chat/composer.tsx'
export { Composer } from './chat/composer.tsx'
export type { ConversationProps } from './chat/conversation.tsx'
export { Conversation } from './chat/conversation.tsx'
export type { ConversationParts } from './chat/conversation-context.ts'
export { useConversation } from './chat/conversation-context.ts'
export { ConversationLog } from './chat/conversation-log.tsx'
export type { ConversationProviderProps } from './chat/conversation-provider.tsx'
export { ConversationProvider } from './chat/conversation-provider.tsx'
export { Markdown } from './chat/markdown.tsx'
export { QuestionForm } from './chat/question-form.tsx'
export { UserMessage } from './chat/user-message.tsx'
export type { AgentNode, AgentTreeProps } from './panel/agent-tree.tsx'
export { AgentTree } from './panel/agent-tree.tsx'
export type { TimelineProps } from './panel/timeline.tsx'
export { Timeline } from './panel/timeline.tsx'
export type { Access, AccessHeaders } from './request/access.ts'
export type { FailureCode } from './request/failure.ts'
export { argsOf } from './thread/args-of.ts'
export type {
  Attachment,
  CallItem,
  CallStatus,
  Item,
  NoteCode,
  NoteItem,
  TextItem,
  UserContent,
  UserItem,
} from './thread/item.ts'
export type { PageTool, PageTools } from './thread/page-tool.ts'
export type { Run, Span, Tokens, TokensByMessage } from './thread/run.ts'
export type {
  History,
  PastRun,
  Thread,
  ThreadActions,
  ThreadOptions,
  ThreadState,
  ThreadStatus,
} from './thread/thread.ts'
export { useRun } from './thread/use-run.ts'
export { useThread } from './thread/use-thread.ts'
export type { ThreadListProps } from './threads/thread-list.tsx'
export { ThreadList } from './threads/thread-list.tsx'
export type { ThreadSummary } from './threads/thread-summary.ts'
export type { Threads, ThreadsOptions } from './threads/use-threads.ts'
export { useThreads } from './threads/use-threads.ts'
export type { Labels } from './view/labels.ts'
