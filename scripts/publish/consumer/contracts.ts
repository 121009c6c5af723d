import type { AgentEvent, Json } from '@troupe/kernel'
import { defineTool, KernelError } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { memoryStore } from '@troupe/kernel/memory-store'

export const tool = defineTool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  invoke: ({ at }) => at.toUpperCase(),
})
export const json = (event: AgentEvent): Json => event
export const store = memoryStore()
export const messages = repairHistory([])
console.log(KernelError.is(new KernelError('ABORTED', 'contracts: aborted'), 'ABORTED'))
