import type { RestorePlan } from './restore-plan.ts'

const SPACE = new Set([' ', '\n', '\r', '\t'])

/** Whether JSON allows a character between values. */
export function isSpace(char: string): boolean {
  return SPACE.has(char)
}

/** The text of one value, and where it ends. */
export class ValueText {
  /** The reason why it is not written yet, if any. */
  readonly keeps: RestorePlan | 'null' | undefined
  text: string
  readonly #nests: boolean
  #depth: number
  #quoted: boolean
  #escaped = false

  constructor(first: string, keeps: RestorePlan | 'null' | undefined) {
    this.keeps = keeps
    this.text = first
    this.#quoted = first === '"'
    this.#nests = first === '{' || first === '['
    this.#depth = this.#nests ? 1 : 0
  }

  /** Whether the value ends before this character, as a number or a word does. */
  endsBefore(char: string): boolean {
    return !this.#nests && !this.#quoted && (',}]'.includes(char) || isSpace(char))
  }

  /** Adds a character. Contract: returns whether the value is complete with it. */
  add(char: string): boolean {
    if (this.keeps) this.text += char
    if (this.#escaped) this.#escaped = false
    else if (this.#quoted && char === '\\') this.#escaped = true
    else if (char === '"') {
      this.#quoted = !this.#quoted
      return !this.#quoted && !this.#nests
    } else if (!this.#quoted && '{['.includes(char)) this.#depth++
    else if (!this.#quoted && '}]'.includes(char)) return --this.#depth === 0
    return false
  }
}
