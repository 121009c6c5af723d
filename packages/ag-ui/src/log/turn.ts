/** The next turn of the event loop, so that what happens in one goes out together. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    // A browser and a worker do not have it.
    if (typeof globalThis.setImmediate === 'function') globalThis.setImmediate(resolve)
    else setTimeout(resolve, 0)
  })
}
