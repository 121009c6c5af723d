import { offload } from '@troupe/context'
import type { MakeHandler } from '../app.ts'

/** Keeps a large file from filling the model's window. */
export const handler: MakeHandler = ({ store }) => offload({ store })
