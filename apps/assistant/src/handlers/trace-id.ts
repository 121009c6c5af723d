import type { MakeHandler } from '../app.ts'

/** Tells the page which trace a run belongs to, where runs are traced. */
export const handler: MakeHandler = ({ telemetry }) => ({
  name: 'trace-id',
  async beforeAgent(ctx) {
    const traceId = telemetry.traceIdOf(ctx)
    if (traceId !== undefined) await ctx.emit('trace', { traceId })
  },
})
