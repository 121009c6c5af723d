import { promptCache } from '@troupe/context'
import type { MakeHandler } from '../app.ts'

/** Lets the vendor cache what the requests of a conversation begin with. */
export const handler: MakeHandler = () => promptCache()
