export {
  CompletionLog,
  type CompletionLogOptions,
  type JournalEntry,
  type RecordOnce,
} from './journal/completion-log.ts'
