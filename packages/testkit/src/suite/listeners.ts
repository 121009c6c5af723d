import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { demand } from '../fault.ts'
import { PATIENCE_MS } from './patience.ts'

/**
 * Contract: anyone who listens to a signal stops listening when done, at the latest when the garbage is collected: `fetch` keeps its
 * listener until then, and a producer whose reader left hears of it with its next write.
 */
export async function demandNoListeners(signal: AbortSignal, who: string, calls = 1): Promise<void> {
  const left = await listenersLeft(signal)
  const after = calls === 1 ? '' : ` after ${calls} calls`
  demand(
    left === 0,
    `${who} left ${left} abort ${left === 1 ? 'listener' : 'listeners'} on the signal${after}`,
    'Remove each listener in a `finally` (removeEventListener, or addEventListener with a signal of your own). One that stays is there for the whole run, and every call adds another.',
  )
}

/** A busy machine takes its time for each round, so time alone says nothing. */
const ROUNDS = 10

/** The number of listeners of a signal once things have settled. */
async function listenersLeft(signal: AbortSignal): Promise<number> {
  const start = performance.now()
  for (let round = 0; ; round++) {
    const left = getEventListeners(signal, 'abort').length
    if (left === 0 || (round >= ROUNDS && performance.now() - start > PATIENCE_MS)) return left
    collectGarbage()
    // Finalizers run in a task of their own.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

let collect: (() => void) | undefined

function collectGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}
