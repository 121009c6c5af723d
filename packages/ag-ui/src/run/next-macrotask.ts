/** Resolves in the next macrotask, so that events of the same one are written together. */
export function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    // Browsers and workers do not have `setImmediate`.
    if (typeof globalThis.setImmediate === 'function') globalThis.setImmediate(resolve)
    else setTimeout(resolve, 0)
  })
}
