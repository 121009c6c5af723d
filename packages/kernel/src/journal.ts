export { carriedBy } from './journal/carried-by.ts'
export {
  CompletionLog,
  type CompletionLogOptions,
  type JournalEntry,
  type RecordOnce,
} from './journal/completion-log.ts'
export { applyChanges, NotedState, type StateChanges } from './journal/noted-state.ts'
export { NotedStep, repeatEffects, retell, type StepEffects } from './journal/noted-step.ts'
export { ShownEvents } from './journal/shown-events.ts'
