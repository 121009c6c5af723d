import { type AgentHandler, contextKey, KernelError, type Message, type Part, stream } from '@troupe/kernel'
import { ANSWER_NOT_KEPT, checkOptionNames, pipe, sinkTo } from '@troupe/kernel/kit'
import { type AnswerFilter, filteredAnswer, type TextKind } from '../answer/filtered-answer.ts'
import type { RedactedText } from './redacted-text.ts'
import type { RedactionRule } from './redaction-rule.ts'
import { Redactor } from './redactor.ts'

/** Options of `redaction`. */
export interface RedactionOptions {
  readonly rules: readonly RedactionRule[]
}

const WHO = 'redaction'

/**
 * Replaces texts in what the model and the tools say, before anybody sees or stores it, and in the history that the model gets.
 * Contract: finds a match however an answer is cut into pieces; as the last handler it also hides what it replaces from the handlers before it. Messages of users are stored before an agent runs: see `guardedRunner`.
 * @example chatModelAgent({ name: 'guide', model, handlers: [redaction({ rules: [EMAIL, { name: 'codename', match: 'Bluebird' }] })] })
 */
export function redaction(options: RedactionOptions): AgentHandler {
  checkOptionNames(WHO, options, { rules: true })
  const redactor = new Redactor(WHO, options.rules)
  const history = contextKey<{ messages: readonly Message[] }>('redaction.history')
  return {
    name: WHO,
    beforeAgent(ctx, config) {
      const messages = redactor.messages(config.input.messages)
      if (messages !== config.input.messages) config.input = { messages }
      return ctx.with(history, { messages })
    },
    // A handler before may have added to them, such as a summary from before this one was installed.
    beforeModelRewriteHistory(ctx, messages) {
      const before = ctx.get(history)
      const redacted = redactor.messages(messages, before?.messages)
      if (before) before.messages = redacted
      return redacted === messages ? undefined : redacted
    },

    wrapModelCall: (ctx, request, next) =>
      filteredAnswer(
        next(ctx.with(ANSWER_NOT_KEPT, true), request),
        request,
        () => new RedactedAnswer(redactor),
        (error) => redactedError(redactor, error),
      ),

    wrapInvokableToolCall: async (ctx, input, next) => redactor.result(await next(ctx, input)),

    async wrapStreamableToolCall(ctx, input, next) {
      const call = await next(ctx, input)
      const chunks = stream<string | Part>(async (sink) => {
        const text = redactor.open()
        await pipe(
          call.stream,
          sinkTo(sink, (chunk: string | Part) => {
            if (typeof chunk !== 'string' && chunk.type !== 'text') return sink.write(chunk)
            const shown = text.write(typeof chunk === 'string' ? chunk : chunk.text)
            return shown === '' ? undefined : sink.write(shown)
          }),
        )
        const rest = text.flush()
        if (rest !== '') await sink.write(rest)
      })
      return { stream: chunks, result: call.result.then((result) => redactor.result(result)) }
    },
  }
}

/** The texts of one answer. */
class RedactedAnswer implements AnswerFilter {
  readonly #redactor: Redactor
  readonly #texts: { [kind in TextKind]?: RedactedText } = {}

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  write(kind: TextKind, piece: string): string {
    this.#texts[kind] ??= this.#redactor.open()
    return this.#texts[kind].write(piece)
  }

  flush(kind: TextKind): string {
    return this.#texts[kind]?.flush() ?? ''
  }

  json(text: string): string {
    return this.#redactor.answer(text)
  }

  toolName(name: string): string {
    return this.#redactor.text(name)
  }

  arguments(_name: string, text: string): string {
    return this.#redactor.arguments(text)
  }
}

/** The error of a model, which may quote what it was asked. Contract: the same error if nothing in it is replaced. */
function redactedError(redactor: Redactor, error: unknown): unknown {
  if (!KernelError.is(error)) return error
  const info = error.toJSON()
  const redacted = redactor.error(info)
  return redacted === info ? error : new KernelError(redacted.code, redacted.message, redacted)
}
