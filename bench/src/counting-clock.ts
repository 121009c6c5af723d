import type { Clock } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'

/** The system's clock, which knows how many timers are set. */
export class CountingClock implements Clock {
  pending = 0

  now(): number {
    return systemClock.now()
  }

  after(ms: number, callback: () => void, hold?: boolean): () => void {
    this.pending++
    let over = false
    const end = () => {
      if (!over) this.pending--
      over = true
    }
    const cancel = systemClock.after(
      ms,
      () => {
        end()
        callback()
      },
      hold,
    )
    return () => {
      end()
      cancel()
    }
  }
}
