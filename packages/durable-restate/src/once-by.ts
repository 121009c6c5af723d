import * as restate from '@restatedev/restate-sdk'
import type { Once } from '@troupe/durable'
import type { CancelMode } from '@troupe/kernel'

const TEXT: restate.Serde<string> = {
  contentType: 'text/plain',
  serialize: (text) => new TextEncoder().encode(text),
  deserialize: (bytes) => new TextDecoder().decode(bytes),
}

/**
 * Records texts in the journal of an invocation, one after the other, and listens for cancels meanwhile.
 * Contract: a cancel stops nothing by itself: what is under way is still recorded.
 */
export function onceBy(ctx: restate.ObjectContext, stop: (mode: CancelMode) => void): Once {
  let cancel = ctx.signal<CancelMode>('cancel')
  return async (work) => {
    const recorded = ctx.run('steps', work, { serde: TEXT })
    for (;;) {
      // A new object each time, because a cancel of the invocation breaks the one that is awaited.
      const text = recorded.map((value, failure) => {
        if (failure) throw failure
        return { text: value as string }
      })
      const asked = cancel.map((mode) => ({ mode: mode ?? 'now' }) as const)
      try {
        const first = await restate.RestatePromise.race([text, asked])
        if ('text' in first) return first.text
        cancel = ctx.signal<CancelMode>('cancel')
        stop(first.mode)
      } catch (error) {
        if (!(error instanceof restate.CancelledError)) throw error
        stop('now')
      }
    }
  }
}
