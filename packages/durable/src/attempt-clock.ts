import type { Clock } from '@troupe/kernel'
import { elapsedBy } from '@troupe/kernel/kit'

/** A clock whose timers end with an attempt: a replaced attempt must not time out or retry. */
export function attemptClock(clock: Clock, gone: AbortSignal): Clock {
  const timers = new Set<() => void>()
  gone.addEventListener('abort', () => {
    for (const cancel of timers) cancel()
    timers.clear()
  })
  return {
    now: () => clock.now(),
    elapsed: () => elapsedBy(clock),
    after(ms, callback, hold) {
      if (gone.aborted) return () => undefined
      const cancel = clock.after(
        ms,
        () => {
          timers.delete(cancel)
          callback()
        },
        hold,
      )
      timers.add(cancel)
      return () => {
        timers.delete(cancel)
        cancel()
      }
    },
  }
}
