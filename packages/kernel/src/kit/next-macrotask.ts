/**
 * Resolves in the next macrotask, when everything that can go on now has gone on.
 * @example await nextMacrotask()
 */
export function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    // Browsers and workers do not have `setImmediate`.
    if (typeof globalThis.setImmediate === 'function') globalThis.setImmediate(resolve)
    // biome-ignore lint/plugin: it waits for no time, only for the work that is due
    else setTimeout(resolve, 0)
  })
}
