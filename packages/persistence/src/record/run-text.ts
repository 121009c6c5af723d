/** A piece of text and where it goes. */
export interface Piece {
  readonly offset: number
  readonly text: string
}

/**
 * The text of a run while it is being written: that of its last message, as far as it has come.
 * Contract: kept once; what a failed attempt has said stays until another message says something.
 */
export class RunText {
  /** Whether something is new since the last cut. */
  dirty = false
  #cut = ''
  #fresh = ''
  #current: string | undefined
  #next: string | undefined

  /** All of it. */
  get whole(): string {
    return this.#cut + this.#fresh
  }

  /** How much is new since the last cut. */
  get waiting(): number {
    return this.#fresh.length
  }

  /** A message begins; its first words take the place of what the one before has said. */
  begin(messageId: string): void {
    this.#next = messageId
  }

  /** Contract: false if a message speaks that runs beside the current one; it comes whole, when it ends. */
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

  /** The text as it stands in history; false if that is what there was. */
  settle(messageId: string, text: string): boolean {
    this.#current = messageId
    return this.replace(text)
  }

  /** Puts another text in its place; false if it is the same. */
  replace(text: string): boolean {
    if (text === this.whole) return false
    this.#set(text)
    return true
  }

  /** What is new, to be written now. */
  cut(): Piece {
    const piece = { offset: this.#cut.length, text: this.#fresh }
    this.#cut = this.whole
    this.#fresh = ''
    this.dirty = false
    return piece
  }

  /** Makes all of it new again. */
  rewind(): void {
    this.#set(this.whole)
  }

  #set(text: string): void {
    this.#cut = ''
    this.#fresh = text
    this.dirty = true
  }
}
