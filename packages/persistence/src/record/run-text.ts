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
  /** How much is new since the last cut. */
  waiting = 0
  #cut = ''
  /** Deltas as they came: joined when they are written, since a long chain of concatenations costs more. */
  #tail: string[] = []
  #current: string | undefined
  #next: string | undefined

  /** All of it. */
  get whole(): string {
    return this.#tail.length === 0 ? this.#cut : this.#cut + this.#tail.join('')
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
    this.#tail.push(delta)
    this.waiting += delta.length
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
    if (text.length === this.#cut.length + this.waiting && text === this.whole) return false
    this.#set(text)
    return true
  }

  /** What is new, to be written now. */
  cut(): Piece {
    const piece = { offset: this.#cut.length, text: this.#tail.join('') }
    this.#cut += piece.text
    this.#tail = []
    this.waiting = 0
    this.dirty = false
    return piece
  }

  /** Makes all of it new again. */
  rewind(): void {
    this.#set(this.whole)
  }

  #set(text: string): void {
    this.#cut = ''
    this.#tail = text === '' ? [] : [text]
    this.waiting = text.length
    this.dirty = true
  }
}
