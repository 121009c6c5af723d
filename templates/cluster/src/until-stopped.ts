/** Resolves with SIGTERM or SIGINT. A second signal ends the process at once. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      process.off('SIGINT', stop).off('SIGTERM', stop)
      resolve()
    }
    process.once('SIGINT', stop).once('SIGTERM', stop)
  })
}
