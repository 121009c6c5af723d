import { compaction } from '@troupe/context'
import type { MakeHandler } from '../app.ts'

/** Puts a summary in the place of what was said long ago. */
export const handler: MakeHandler = ({ model, store }) => compaction({ model, store, maxTokens: 60_000 })
