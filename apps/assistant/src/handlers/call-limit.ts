import { toolCallLimit } from '@troupe/handlers'
import type { MakeHandler } from '../app.ts'

/** Stops an agent that calls tools without end. */
export const handler: MakeHandler = () => toolCallLimit({ perRun: 50 })
