import type { ResponseFormat } from './response-format.ts'
import { type RestorePlan, restore, settled } from './restore-plan.ts'
import { isSpace, ValueText } from './value-text.ts'

interface Frame {
  readonly plan: Extract<RestorePlan, { kind: 'object' | 'array' }>
  /** Members that were written. */
  count: number
  key: string
  /** Where in a member the text is; a list only has values. */
  at: 'key' | 'inside-key' | 'colon' | 'value'
}

const OPENING = '{"value":'

/**
 * Rewrites the JSON of one answer into the user's shape while it streams.
 * Contract: `write` returns the text that is certain by then, and `end` the rest; values that need no change keep their text, and text that is not JSON passes unchanged.
 */
export class RestoredText {
  readonly #plan: RestorePlan | undefined
  readonly #wrapped: boolean
  readonly #frames: Frame[] = []
  #out = ''
  /** Text that may still be left out: the opening before the value, a comma with its key, or a value that may be `null`. */
  #held = ''
  /** The current value: it passes, or is held until it is complete. */
  #value: ValueText | undefined
  #state: 'opening' | 'inside' | 'after' | 'verbatim'

  constructor({ plan, wrapped }: Pick<ResponseFormat, 'plan' | 'wrapped'>) {
    this.#plan = plan
    this.#wrapped = wrapped
    this.#state = wrapped ? 'opening' : 'inside'
  }

  write(text: string): string {
    for (const char of text) this.#addChar(char)
    return this.#flushed()
  }

  end(): string {
    if (this.#value) this.#finishValue()
    this.#out += this.#held
    this.#held = ''
    return this.#flushed()
  }

  #flushed(): string {
    const text = this.#out
    this.#out = ''
    return text
  }

  #addChar(char: string): void {
    if (this.#state === 'verbatim') this.#out += char
    else if (this.#state === 'opening') this.#open(char)
    else if (this.#state === 'after') this.#out += this.#wrapped ? '' : char
    else if (this.#value) this.#continue(this.#value, char)
    else this.#inFrame(char)
  }

  #open(char: string): void {
    this.#held += char
    const so = this.#held.replaceAll(/\s/g, '')
    if (so === OPENING) {
      this.#held = ''
      this.#state = 'inside'
    } else if (!OPENING.startsWith(so)) this.#giveUp('')
  }

  #inFrame(char: string): void {
    const frame = this.#frames.at(-1)
    if (!frame) {
      if (isSpace(char)) this.#out += char
      else this.#begin(char, this.#plan)
    } else if (frame.plan.kind === 'array') this.#inArray(frame.plan, char)
    else this.#inObject(frame, frame.plan, char)
  }

  #inArray({ items }: Extract<RestorePlan, { kind: 'array' }>, char: string): void {
    if (char === ']') this.#close(char)
    else if (char === ',' || isSpace(char)) this.#out += char
    else this.#begin(char, items)
  }

  #inObject(frame: Frame, plan: Extract<RestorePlan, { kind: 'object' }>, char: string): void {
    switch (frame.at) {
      case 'key':
        this.#beforeKey(frame, char)
        break
      case 'inside-key':
        this.#held += char
        frame.key += char
        if (char === '"' && !/(^|[^\\])(\\\\)*\\"$/.test(frame.key)) frame.at = 'colon'
        break
      case 'colon':
        if (char === ':') frame.at = 'value'
        if (char === ':' || isSpace(char)) this.#held += char
        else this.#giveUp(char)
        break
      case 'value':
        if (isSpace(char)) this.#held += char
        else this.#beginMember(frame, plan, char)
    }
  }

  #beforeKey(frame: Frame, char: string): void {
    if (char === '}') this.#close(char)
    else if (char === ',' || isSpace(char)) this.#held += char
    else if (char === '"') {
      this.#held += char
      Object.assign(frame, { at: 'inside-key', key: char })
    } else this.#giveUp(char)
  }

  #beginMember(frame: Frame, { drops, members }: Extract<RestorePlan, { kind: 'object' }>, char: string): void {
    frame.at = 'key'
    const name = nameOf(frame.key)
    if (char === 'n' && drops.has(name)) {
      this.#value = new ValueText(char, 'null')
      return
    }
    this.#show(frame)
    this.#begin(char, members.get(name))
  }

  /** Writes the held comma and key; the first member that is written has no comma before it. */
  #show(frame: Frame): void {
    this.#out += frame.count++ > 0 ? this.#held : this.#held.replace(/^\s*,/, '')
    this.#held = ''
  }

  #close(char: string): void {
    this.#out += this.#held + char
    this.#held = ''
    this.#frames.pop()
    this.#ended()
  }

  #begin(char: string, plan: RestorePlan | undefined): void {
    const to = settled(plan)
    const opens = (to?.kind === 'object' && char === '{') || (to?.kind === 'array' && char === '[')
    if (opens) {
      this.#out += char
      this.#frames.push({ plan: to, count: 0, key: '', at: 'key' })
      return
    }
    this.#value = new ValueText(char, to?.kind === 'union' || to?.kind === 'tuple' ? to : undefined)
    if (!this.#value.keeps) this.#out += char
  }

  #continue(value: ValueText, char: string): void {
    if (value.endsBefore(char)) {
      this.#finishValue()
      this.#addChar(char)
      return
    }
    const done = value.add(char)
    if (!value.keeps) this.#out += char
    if (done) this.#finishValue()
  }

  #finishValue(): void {
    const { text = '', keeps } = this.#value ?? {}
    this.#value = undefined
    const frame = this.#frames.at(-1)
    if (keeps === 'null') {
      if (text === 'null') this.#held = ''
      else if (frame) {
        this.#show(frame)
        this.#out += text
      }
    } else if (keeps) this.#out += restoredJson(keeps, text)
    this.#ended()
  }

  #ended(): void {
    if (this.#frames.length === 0) this.#state = 'after'
  }

  /** Passes the rest unchanged, because the text is not the JSON that was asked for. */
  #giveUp(char: string): void {
    this.#out += this.#held + char
    this.#held = ''
    this.#state = 'verbatim'
  }
}

function nameOf(quoted: string): string {
  try {
    return JSON.parse(quoted)
  } catch {
    return quoted
  }
}

function restoredJson(plan: RestorePlan, text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    const restored = restore(plan, value)
    return restored === value ? text : JSON.stringify(restored)
  } catch {
    return text
  }
}
