export { LogWatch, type LogWatchOptions } from './log-watch.ts'
export { MIGRATIONS, type Tables } from './schema.ts'
export type { Engine } from './session.ts'
export { type SqlStore, sqlStore } from './sql-store.ts'
