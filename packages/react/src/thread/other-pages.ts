/** Hears of runs that other pages start in the same thread, and tells them of its own. */
export class OtherPages {
  readonly #channel: BroadcastChannel | undefined
  readonly #stop = new AbortController()

  /** `onRun` is called when another page of this browser starts a run, `onReturn` when the user comes back to this page. */
  constructor(name: string, { onRun, onReturn }: { readonly onRun: () => void; readonly onReturn: () => void }) {
    if (typeof BroadcastChannel === 'function') {
      this.#channel = new BroadcastChannel(name)
      this.#channel.onmessage = onRun
      // In Node it would keep the process alive.
      ;(this.#channel as { unref?: () => void }).unref?.()
    }
    if (typeof window !== 'undefined') window.addEventListener('focus', onReturn, { signal: this.#stop.signal })
  }

  tellOfRun(): void {
    this.#channel?.postMessage('run')
  }

  close(): void {
    this.#channel?.close()
    this.#stop.abort()
  }
}
