import type { Content, ErrorInfo, Message, Part, ToolCallResult } from '@troupe/kernel'
import { redactedAnswer, redactedArguments, redactedJson } from './redacted-json.ts'
import { RedactedText } from './redacted-text.ts'
import { compileRules, type RedactionRule } from './redaction-rule.ts'

/** Replaces texts in everything that a run has. */
export class Redactor {
  readonly #rules: ReturnType<typeof compileRules>
  /** Messages that were looked at, which later runs of a process often have again. */
  readonly #messages = new WeakMap<Message, Message>()

  constructor(who: string, rules: readonly RedactionRule[]) {
    this.#rules = compileRules(who, rules)
  }

  /** A text that comes in pieces. */
  open(): RedactedText {
    return new RedactedText(this.#rules)
  }

  readonly text = (text: string): string => {
    if (!this.#mayMatch(text)) return text
    const redacted = this.open()
    return redacted.write(text) + redacted.flush()
  }

  #mayMatch(text: string): boolean {
    for (const { find } of this.#rules) if (find(text, 0)) return true
    return false
  }

  arguments(text: string): string {
    return redactedArguments(text, this.text)
  }

  /** An answer that is JSON. */
  answer(text: string): string {
    return redactedAnswer(text, this.text)
  }

  /** Contract: several texts are read as one, because readers join them. */
  content(content: Content): Content {
    if (typeof content === 'string') return this.text(content)
    const last = content.findLastIndex(isText)
    if (last < 0)
      return content.every((part) => part.type === 'file') ? content : content.map((part) => this.#part(part))
    const texts = this.open()
    const parts = content.map((part, i): Part => {
      if (!isText(part)) return this.#part(part)
      const text = texts.write(part.text) + (i === last ? texts.flush() : '')
      return text === part.text ? part : { ...part, text }
    })
    return parts.every((part, i) => part === content[i]) ? content : this.#joinedAgain(content, parts)
  }

  /** A history that grows. Contract: gives the same list if nothing in it is replaced; `before` is what it gave for the same history last time, whose messages are not read again. */
  messages(messages: readonly Message[], before: readonly Message[] = []): readonly Message[] {
    let redacted: Message[] | undefined
    for (let i = 0; i < messages.length; i++) {
      const message = messages[i] as Message
      if (message === before[i]) continue
      // What a run adds is its own; only what it begins with may come again.
      const shown = before.length > 0 ? this.message(message) : this.#known(message)
      if (shown === message) continue
      redacted ??= [...messages]
      redacted[i] = shown
    }
    return redacted ?? messages
  }

  #known(message: Message): Message {
    const known = this.#messages.get(message)
    if (known) return known
    const redacted = this.message(message)
    this.#messages.set(message, redacted)
    return redacted
  }

  result(result: ToolCallResult): ToolCallResult {
    const { display, data, error } = result
    const content = this.content(result.content)
    const shown = display === undefined ? undefined : this.text(display)
    const value = data === undefined ? undefined : redactedJson(data, this.text)
    const failure = error && this.error(error)
    if (content === result.content && shown === display && value === data && failure === error) return result
    return {
      ...result,
      content,
      ...(shown !== undefined && { display: shown }),
      ...(value !== undefined && { data: value }),
      ...(failure && { error: failure }),
    }
  }

  error(error: ErrorInfo): ErrorInfo {
    const message = this.text(error.message)
    const details = error.details && redactedJson(error.details, this.text)
    if (message === error.message && details === error.details) return error
    return { ...error, message, ...(details && { details }) }
  }

  message(message: Message): Message {
    const content = this.content(message.content)
    const bare = content === message.content ? message : { ...message, content }
    if (bare.role === 'assistant' && bare.toolCalls) {
      const { toolCalls } = bare
      const calls = toolCalls.map((call) => {
        const args = this.arguments(call.arguments)
        return args === call.arguments ? call : { ...call, arguments: args }
      })
      return calls.every((call, i) => call === toolCalls[i]) ? bare : { ...bare, toolCalls: calls }
    }
    if (bare.role !== 'tool') return bare
    const result = this.result(bare)
    return result === bare ? bare : { ...bare, ...result }
  }

  #part(part: Part): Part {
    if (part.type === 'file') return part
    const text = this.text(part.text)
    return text === part.text ? part : { ...part, text }
  }

  /** Contract: a text that only moved from one part to the next stays where it was. */
  #joinedAgain(before: readonly Part[], after: readonly Part[]): readonly Part[] {
    const joined = (parts: readonly Part[]) =>
      parts
        .filter(isText)
        .map(({ text }) => text)
        .join('')
    const texts = joined(before) === joined(after)
    const parts = texts ? after.map((part, i) => (isText(part) ? (before[i] as Part) : part)) : after
    return parts.every((part, i) => part === before[i]) ? before : parts
  }
}

function isText(part: Part): part is Part & { readonly type: 'text' } {
  return part.type === 'text'
}
