export type { Engine } from './engine.ts'
export { LogWatch } from './log-watch.ts'
export { MIGRATIONS, type Tables } from './schema.ts'
export { sqlStore } from './sql-store.ts'
