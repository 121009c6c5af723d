import { type Json, KernelError } from '@troupe/kernel'
import type { Once } from './engine.ts'
import { never } from './given-up.ts'

/** How much the engine gets at a time: engines refuse large records, and some of them for ever. */
const PIECE = 1_048_576
/** Begins a piece that another one follows, and the last piece. A text in one piece begins as JSON does. */
const MORE = '+'
const LAST = '.'

/**
 * What an engine has recorded of a run, and what an attempt adds to it.
 * Contract: the engine sees one thing at a time: it is always asked for the next record, and gets it when there is one, so that the order in which
 * parallel branches work cannot differ from what was recorded.
 */
export class EntryLog {
  readonly #once: Once
  readonly #maxChars: number
  /** What the engine records next. */
  #next: PromiseWithResolvers<string> = Promise.withResolvers()
  #recording: Promise<string> | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(once: Once, maxChars: number) {
    this.#once = once
    this.#maxChars = maxChars
  }

  /** Reads what was recorded. Contract: called once, first; ends after the record that `isLast`, and then nothing can be added. */
  async recorded<T>(isLast: (entry: T) => boolean): Promise<readonly T[]> {
    const entries: T[] = []
    let begun = ''
    for (;;) {
      const text = await this.#ask()
      if (text === undefined) return entries
      const [kind, rest] = [text[0], text.slice(1)]
      if (kind === MORE) {
        begun += rest
        continue
      }
      const entry = JSON.parse(kind === LAST ? begun + rest : text) as T
      begun = ''
      entries.push(entry)
      if (isLast(entry)) return entries
    }
  }

  /** Asks for the next record. Contract: undefined if there is none, and the engine waits for one. */
  async #ask(): Promise<string | undefined> {
    const live = Promise.withResolvers<undefined>()
    const recording = this.#record(() => live.resolve(undefined))
    return Promise.race([recording, live.promise])
  }

  #record(onLive?: () => void): Promise<string> {
    const next = Promise.withResolvers<string>()
    const recording = this.#once(() => {
      onLive?.()
      return next.promise
    })
    // The caller that adds the next entry learns about it.
    recording.catch(() => undefined)
    this.#next = next
    this.#recording = recording
    return recording
  }

  /** Adds an entry and waits until it is recorded. Contract: `STEP_TOO_LARGE` for one that is longer than allowed, which is not recorded. */
  async add(entry: Json): Promise<void> {
    const text = JSON.stringify(entry)
    if (text.length > this.#maxChars) {
      const message = `journal: a step gave more than ${this.#maxChars} characters, got ${text.length}; keep large results elsewhere and return where they are`
      throw new KernelError('STEP_TOO_LARGE', message, { details: { length: text.length, maxChars: this.#maxChars } })
    }
    await this.#queue(text, false)
  }

  /** Adds the last entry of this attempt, of any length. Contract: a caller that adds one after it waits for ever, so that of two ways to end an attempt one counts. */
  async addLast(entry: Json): Promise<void> {
    await this.#queue(JSON.stringify(entry), true)
  }

  #queue(text: string, last: boolean): Promise<void> {
    const turn = this.#turn.then(() => this.#write(text, last))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #write(text: string, last: boolean): Promise<void> {
    if (this.#closed) return never()
    this.#closed = last
    const pieces = piecesOf(text)
    for (const [i, piece] of pieces.entries()) {
      this.#next.resolve(piece)
      await this.#recording
      if (!last || i < pieces.length - 1) this.#record()
    }
  }
}

function piecesOf(text: string): readonly string[] {
  if (text.length <= PIECE) return [text]
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += PIECE) {
    pieces.push(`${at + PIECE < text.length ? MORE : LAST}${text.slice(at, at + PIECE)}`)
  }
  return pieces
}
