import * as restate from '@restatedev/restate-sdk'
import type { DurableWorker, RunOrder } from '@troupe/durable'
import type { CancelMode } from '@troupe/kernel'
import { onceBy } from './once-by.ts'

type Attempts = Parameters<DurableWorker['carryOut']>[0]

/** The run that an object carries out. */
type Active = { readonly runId: string; readonly invocation: string }

/** A cancel of one run. */
export type CancelOrder = { readonly runId: string; readonly mode: CancelMode }

/** How a Restate object behaves. */
export interface ObjectSettings {
  readonly stepMs: number
  readonly retentionMs: number
  readonly maxAttempts: number
}

/**
 * A Restate object with the runs of one agent: one key for each thread, one invocation for each run.
 * Contract: runs of a thread come one after the other; a cancel comes at any time.
 */
export function runObject(
  name: string,
  worker: DurableWorker,
  attempts: Attempts,
  flush: ((order: RunOrder) => Promise<void>) | undefined,
  { stepMs, retentionMs, maxAttempts }: ObjectSettings,
): restate.VirtualObjectDefinition<string, unknown> {
  return restate.object({
    name,
    handlers: {
      run: async (ctx: restate.ObjectContext, order: RunOrder): Promise<void> => {
        const { id, attemptCompletedSignal: gone } = ctx.request()
        ctx.set('active', { runId: order.runId, invocation: id } satisfies Active)
        let asked: CancelMode | undefined
        let cancel = (mode: CancelMode) => {
          asked = mode
        }
        const once = onceBy(ctx, (mode) => cancel(mode))
        await worker.carryOut(attempts, order, { once, gone }, (attempt) => {
          cancel = (mode) => attempt.cancel(mode)
          if (asked) cancel(asked)
        })
        await flush?.(order)
        ctx.clear('active')
      },
      cancel: restate.handlers.object.shared(
        async (ctx: restate.ObjectSharedContext, { runId, mode }: CancelOrder): Promise<boolean> => {
          const active = await ctx.get<Active>('active')
          if (active?.runId !== runId) return false
          ctx
            .invocation(restate.InvocationIdParser.fromString(active.invocation))
            .signal<CancelMode>('cancel')
            .resolve(mode)
          return true
        },
      ),
    },
    options: {
      // A model or a tool may be silent for a long time.
      inactivityTimeout: stepMs,
      abortTimeout: 60_000,
      journalRetention: retentionMs,
      idempotencyRetention: retentionMs,
      retryPolicy: {
        initialInterval: 100,
        exponentiationFactor: 2,
        maxInterval: 5_000,
        maxAttempts,
        onMaxAttempts: 'pause',
      },
    },
  })
}
