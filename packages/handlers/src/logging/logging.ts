import {
  type AgentHandler,
  contextKey,
  KernelError,
  type ModelPart,
  type RunContext,
  stream,
  textOf,
} from '@troupe/kernel'
import { checkOption, checkOptionNames, pipe } from '@troupe/kernel/kit'
import { type LogFields, type LogLevel, type LogLine, logError } from './log-line.ts'

/** Options of `logging`. */
export interface LoggingOptions {
  /** Writes a line. Contract: not awaited; its errors are ignored, because a log must not break a run. */
  readonly log: (line: LogLine) => void
  /** The lowest level to write. @default 'info' */
  readonly level?: LogLevel
  /** Whether to write the texts of messages, arguments, results and errors. @default false */
  readonly content?: boolean
  /** Gives the trace that a line belongs to, by the context and the step of a model or tool call: `otel().idsOf`. */
  readonly trace?: (ctx: RunContext, step?: string) => Pick<LogLine, 'traceId' | 'spanId'> | undefined
}

const WHO = 'logging'
const LEVELS: readonly unknown[] = ['info', 'warn', 'error'] satisfies LogLevel[]

/**
 * Writes a line when an agent starts and ends, and after each model call and tool call.
 * Contract: put it first, so that it also logs what the other handlers do.
 * @example chatModelAgent({ name: 'guide', model, handlers: [logging({ log: (line) => console.log(JSON.stringify(line)) })] })
 */
export function logging(options: LoggingOptions): AgentHandler {
  checkOptionNames(WHO, options, { log: true, level: true, content: true, trace: true })
  const { log, level: least = 'info', content = false, trace } = options
  checkOption(typeof log === 'function', WHO, 'log must be a function', log)
  checkOption(LEVELS.includes(least), WHO, `level must be one of ${LEVELS.join(', ')}`, least)
  checkOption(typeof content === 'boolean', WHO, 'content must be true or false', content)
  checkOption(trace === undefined || typeof trace === 'function', WHO, 'trace must be a function', trace)
  const startedAt = contextKey<number>('logging.startedAt')

  const write = async (ctx: RunContext, level: LogLevel, fields: LogFields): Promise<void> => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return
    const { runId, agentName, session, clock } = ctx
    try {
      const ids = trace?.(ctx, 'step' in fields ? fields.step : undefined)
      await log({ level, time: clock.now(), runId, threadId: session.threadId, agentName, ...ids, ...fields })
    } catch {
      // A log must not break a run.
    }
  }

  return {
    name: WHO,
    beforeAgent(ctx, { input, tools }) {
      const { messages } = input
      const last = textOf(messages.at(-1)?.content ?? '')
      const counts = { messages: messages.length, tools: tools.length }
      write(ctx, 'info', { event: 'agent-start', ...counts, ...(content && { input: last }) })
      return ctx.with(startedAt, ctx.clock.now())
    },

    afterAgent(ctx, { outcome, usage, error, text }) {
      const start = ctx.get(startedAt)
      write(ctx, outcome === 'failed' ? 'error' : 'info', {
        event: 'agent-end',
        outcome,
        ...(start !== undefined && { durationMs: ctx.clock.now() - start }),
        usage,
        ...(error && { error: logError(error, content) }),
        ...(content && { text }),
      })
    },

    wrapModelCall: (ctx, request, next) =>
      stream<ModelPart>(async (sink) => {
        const start = ctx.clock.now()
        const call = new ModelCallFields(content)
        const fields = () => ({
          event: 'model-call' as const,
          step: request.step,
          durationMs: ctx.clock.now() - start,
          ...call.fields(),
        })
        try {
          await pipe(next(ctx, request), {
            write(part) {
              call.add(part)
              return sink.write(part)
            },
          })
        } catch (error) {
          const status = KernelError.is(error, 'ABORTED') ? 'cancelled' : 'failed'
          const level = status === 'failed' ? 'error' : 'info'
          write(ctx, level, { ...fields(), status, error: logError(error, content) })
          throw error
        }
        write(ctx, 'info', { ...fields(), status: 'complete' })
      }),

    async wrapInvokableToolCall(ctx, input, next) {
      const start = ctx.clock.now()
      const { callId, name: tool, step } = input
      const fields = () => ({
        event: 'tool-call' as const,
        step,
        callId,
        tool,
        durationMs: ctx.clock.now() - start,
        ...(content && { arguments: input.arguments }),
      })
      try {
        const result = await next(ctx, input)
        const { error, attempts } = result
        write(ctx, error ? 'warn' : 'info', {
          ...fields(),
          status: error ? 'failed' : 'complete',
          ...(attempts !== undefined && { attempts }),
          ...(error && { error: logError(error, content) }),
          ...(content && { result: textOf(result.content) }),
        })
        return result
      } catch (error) {
        const status = STOPPED.get(KernelError.from(error).code) ?? 'failed'
        const level = status === 'failed' ? 'error' : 'info'
        write(ctx, level, { ...fields(), status, error: logError(error, content) })
        throw error
      }
    },
  }
}

const STOPPED: ReadonlyMap<string, 'cancelled' | 'interrupted'> = new Map([
  ['ABORTED', 'cancelled'],
  ['INTERRUPTED', 'interrupted'],
])

/** Collects the log fields of a model call. */
class ModelCallFields {
  readonly #content: boolean
  #text = ''
  #restarts = 0
  #finish: (ModelPart & { type: 'finish' }) | undefined

  constructor(content: boolean) {
    this.#content = content
  }

  add(part: ModelPart): void {
    if (part.type === 'text-delta' && this.#content) this.#text += part.delta
    else if (part.type === 'finish') this.#finish = part
    else if (part.type === 'restart') {
      this.#restarts++
      this.#text = ''
    }
  }

  fields() {
    const { reason: finishReason, usage, model } = this.#finish ?? {}
    return {
      restarts: this.#restarts,
      ...(model !== undefined && { model }),
      ...(usage && { usage }),
      ...(finishReason && { finishReason }),
      ...(this.#content && { text: this.#text }),
    }
  }
}
