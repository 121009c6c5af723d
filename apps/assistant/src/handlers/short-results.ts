import { truncateResults } from '@troupe/handlers'
import type { MakeHandler } from '../app.ts'

/** Keeps a large file from filling the model's window. */
export const handler: MakeHandler = () => truncateResults({ maxChars: 20_000 })
