/** Splits an SSE stream into whole frames, and keeps the id of the last one. */
export class WholeFrames {
  /** `<runId>:<sequence>` of the last whole frame that had one. */
  lastId: string | undefined
  /** The terminal event of the run was seen. */
  ended = false
  #rest = ''
  #decoder = new TextDecoder()

  /** Contract: returns whole frames; the rest is kept for the next push, or dropped by `reset`. */
  push(bytes: Uint8Array): string {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true })
    const end = text.lastIndexOf('\n\n') + 2
    if (end < 2) {
      this.#rest = text
      return ''
    }
    this.#rest = text.slice(end)
    const whole = text.slice(0, end)
    this.#look(whole)
    return whole
  }

  /** Prepares for a new connection, which sends a partial frame again as a whole. */
  reset(): void {
    this.#rest = ''
    this.#decoder = new TextDecoder()
  }

  #look(text: string): void {
    const at = text.startsWith('id: ') && text.lastIndexOf('\nid: ') < 0 ? 0 : text.lastIndexOf('\nid: ') + 1
    if (text.startsWith('id: ', at)) this.lastId = text.slice(at + 4, text.indexOf('\n', at))
    if (!text.includes('"RUN_FINISHED"') && !text.includes('"RUN_ERROR"')) return
    for (const line of text.split('\n')) if (line.startsWith('data: ') && isTerminal(line.slice(6))) this.ended = true
  }
}

function isTerminal(json: string): boolean {
  try {
    const { type } = JSON.parse(json) as { type?: unknown }
    return type === 'RUN_FINISHED' || type === 'RUN_ERROR'
  } catch {
    return false
  }
}
