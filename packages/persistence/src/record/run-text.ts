/**
 * The text of a run while it streams: the text of its last message so far.
 * Contract: held once; the text of a failed attempt stays until another message has text.
 */
export class RunText {
  /** Whether the text has changed since the last cut. */
  dirty = false
  #cut = ''
  #fresh = ''
  #current: string | undefined
  #next: string | undefined

  /** The whole text. */
  get whole(): string {
    return this.#cut + this.#fresh
  }

  /** The length of the text since the last cut. */
  get waiting(): number {
    return this.#fresh.length
  }

  /** Begins a message; its first delta replaces the text of the message before. */
  begin(messageId: string): void {
    this.#next = messageId
  }

  /** Contract: false for a message that streams in parallel with the current one; its text comes whole, when it ends. */
  append(messageId: string, delta: string): boolean {
    if (messageId !== this.#current) {
      if (this.#next !== undefined && messageId !== this.#next) return false
      this.#current = messageId
      this.#set('')
    }
    this.#fresh += delta
    this.dirty = true
    return true
  }

  /** Sets the final text of a message; false if it is the same. */
  settle(messageId: string, text: string): boolean {
    this.#current = messageId
    return this.replace(text)
  }

  /** Replaces the text; false if it is the same. */
  replace(text: string): boolean {
    if (text === this.whole) return false
    this.#set(text)
    return true
  }

  /** Takes the new text, to be written now. */
  cut(): { readonly offset: number; readonly text: string } {
    const piece = { offset: this.#cut.length, text: this.#fresh }
    this.#cut = this.whole
    this.#fresh = ''
    this.dirty = false
    return piece
  }

  /** Marks the whole text as new again. */
  rewind(): void {
    this.#set(this.whole)
  }

  #set(text: string): void {
    this.#cut = ''
    this.#fresh = text
    this.dirty = true
  }
}
