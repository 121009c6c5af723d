import { defineTool, type RunContext, type Tool } from '@troupe/kernel'
import type { StepNotes } from './step-notes.ts'

/** Tools that note their steps: pure, idempotent and once, one that streams, one that needs approval, one whose result comes later. */
export function stepTools(notes: StepNotes): readonly Tool[] {
  const tool = (name: string, more: Partial<Tool> = {}): Tool => {
    const { effect = 'once' } = more
    return defineTool({
      name,
      description: `${name}s.`,
      parameters: { type: 'object' },
      async invoke(_: unknown, ctx: RunContext) {
        await notes.pause(`before ${name}`)
        notes.begin(`${ctx.runId}/${ctx.step}`, effect === 'once')
        ctx.state.set(`${name} at ${ctx.step}`, true)
        await notes.pause(`in ${name}`)
        return `${name} is done at ${ctx.step}`
      },
      ...more,
    } as Tool)
  }
  return [
    tool('look', { effect: 'pure' }),
    tool('save', { effect: 'idempotent' }),
    tool('pay'),
    tool('wire', { needsApproval: () => true }),
    tool('drip', {
      effect: 'idempotent',
      async *stream(_, ctx) {
        notes.begin(`${ctx.runId}/${ctx.step}`)
        for (const chunk of ['one ', 'two ', 'three']) {
          yield chunk
          await notes.pause('chunk')
        }
      },
    }),
    defineTool({ name: 'order', description: 'Orders.', parameters: { type: 'object' }, longRunning: true }),
  ]
}
