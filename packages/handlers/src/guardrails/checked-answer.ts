import type { Awaitable, RunContext } from '@troupe/kernel'
import { isPromise } from '@troupe/kernel/kit'
import type { AnswerFilter, TextKind } from '../answer/filtered-answer.ts'
import { plainJson } from '../answer/plain-json.ts'
import { sentenceEnd } from './sentence-end.ts'
import { applied, type Check, type CheckedText } from './verdict.ts'

/** The texts of one answer, which are shown when a check has passed them. */
export class CheckedAnswer implements AnswerFilter {
  readonly #ctx: RunContext
  readonly #check: Check
  readonly #whole: boolean
  readonly #held: { [kind in TextKind]: string } = { text: '', reasoning: '' }
  readonly #shown: { [kind in TextKind]: string } = { text: '', reasoning: '' }

  /** Contract: `whole` holds a text back to its end, otherwise to the end of each sentence. */
  constructor(ctx: RunContext, check: Check, whole: boolean) {
    this.#ctx = ctx
    this.#check = check
    this.#whole = whole
  }

  write(kind: TextKind, piece: string): Awaitable<string> {
    this.#held[kind] += piece
    return this.#whole || sentenceEnd(this.#held[kind]) === 0 ? '' : this.#sentences(kind)
  }

  flush(kind: TextKind): Awaitable<string> {
    const text = this.#held[kind]
    if (text === '') return ''
    if (!this.#whole && sentenceEnd(text) > 0) return this.#sentences(kind).then((shown) => this.#last(kind, shown))
    return this.#last(kind, '')
  }

  json(text: string): Awaitable<string> {
    return this.#checked('text', text, plainJson(text))
  }

  toolName(name: string): Awaitable<string> {
    return this.#asked(name, name, name, 'the name of a tool')
  }

  arguments(name: string, text: string): Awaitable<string> {
    return this.#asked(text, plainJson(text), name, `the arguments of ${name}`)
  }

  #asked(text: string, read: string, name: string, what: string): Awaitable<string> {
    const verdict = this.#check(read, this.#about('arguments', '', name))
    return isPromise(verdict) ? verdict.then((one) => applied(one, text, what)) : applied(verdict, text, what)
  }

  /** Checks the sentences that are whole, one after the other. */
  async #sentences(kind: TextKind): Promise<string> {
    let shown = ''
    for (;;) {
      const held = this.#held[kind]
      const end = sentenceEnd(held)
      if (end === 0) return shown
      this.#held[kind] = held.slice(end)
      shown += await this.#checked(kind, held.slice(0, end))
    }
  }

  #last(kind: TextKind, shown: string): Awaitable<string> {
    const rest = this.#held[kind]
    this.#held[kind] = ''
    if (rest === '') return shown
    const checked = this.#checked(kind, rest)
    return isPromise(checked) ? checked.then((text) => shown + text) : shown + checked
  }

  /** Contract: `read` is the text as the check reads it. */
  #checked(kind: TextKind, text: string, read = text): Awaitable<string> {
    const verdict = this.#check(read, this.#about(kind, this.#shown[kind]))
    const show = (passed: string) => {
      this.#shown[kind] += passed
      return passed
    }
    const what = kind === 'text' ? 'the answer' : 'the reasoning'
    return isPromise(verdict)
      ? verdict.then((one) => show(applied(one, text, what)))
      : show(applied(verdict, text, what))
  }

  #about(kind: CheckedText['kind'], before: string, tool?: string): CheckedText {
    return { ctx: this.#ctx, kind, before, ...(tool !== undefined && { tool }) }
  }
}
