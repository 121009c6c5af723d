export type { Embed, LongTermMemory, MemoryOptions } from './memory.ts'
export { memory } from './memory.ts'
