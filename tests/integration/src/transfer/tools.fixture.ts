import { defineTool, type Tool } from '@troupe/kernel'

/** A tool without arguments. */
export const tool = (name: string, more: Partial<Tool> = {}): Tool =>
  defineTool({ name, description: name, parameters: { type: 'object' }, invoke: () => `${name} done`, ...more })

/** A tool whose result comes from outside. */
export const slow = (name = 'slow'): Tool => tool(name, { longRunning: true })

/** A tool that asks a person. */
export const asks = (name = 'asks', log: string[] = []): Tool =>
  tool(name, {
    async invoke(_, ctx, { idempotencyKey }) {
      log.push(idempotencyKey)
      return `heard ${await ctx.interrupt({ reason: 'input', message: `${name}?` })}`
    },
  })

/** A tool that needs approval and logs its calls. */
export const guarded = (log: string[], name = 'guarded'): Tool =>
  tool(name, {
    needsApproval: () => true,
    invoke(_, _ctx, call) {
      log.push(`${name} ${call.arguments}`)
      return `${name} ran`
    },
  })

/** A tool that logs its name. */
export const plain = (log: string[], name = 'plain'): Tool =>
  tool(name, {
    invoke() {
      log.push(name)
      return `${name} ran`
    },
  })
