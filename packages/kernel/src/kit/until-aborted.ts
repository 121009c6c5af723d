/**
 * Waits for work until the signal aborts.
 * Contract: rejects with the signal's reason; leaves no listener behind; `giveBack` gets a value that comes too late.
 * @example const answer = await untilAborted(ctx.signal, askPerson())
 */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>, giveBack?: (late: T) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      signal.removeEventListener('abort', stop)
      reject(signal.reason)
      // A value that cannot be given back, and a failure that comes too late, have nowhere to go.
      work.then(giveBack).catch(ignore)
    }
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

function ignore(): void {}
