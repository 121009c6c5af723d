import {
  type AgentHandler,
  KernelError,
  type ModelPart,
  type Part,
  type RunContext,
  stream,
  type ToolCallInput,
  type ToolCallResult,
  textOf,
} from '@troupe/kernel'
import { ANSWER_NOT_KEPT, checkOption, checkOptionNames, pipe } from '@troupe/kernel/kit'
import { filteredAnswer } from '../answer/filtered-answer.ts'
import { CheckedAnswer } from './checked-answer.ts'
import { applied, type Check } from './verdict.ts'

/** Options of `guardrails`; at least one check is required. */
export interface GuardrailsOptions {
  /** Checks what the model says, thinks and asks tools for. Contract: what it refuses ends the run with `GUARDRAIL_REFUSED`. */
  readonly output?: Check
  /** Checks results of tools. Contract: a result that it refuses becomes the tool error `GUARDRAIL_REFUSED`. */
  readonly toolResults?: Check
  /** How long the text of an answer is held back for its check: for a sentence, or as a whole. @default 'sentence' */
  readonly hold?: 'sentence' | 'answer'
}

const WHO = 'guardrails'

/**
 * Checks what models and tools say before anybody sees or stores it.
 * Contract: what is refused was in no event, record, thread or log. Input is checked before a run begins: see `guardedRunner`.
 * @example chatModelAgent({ name: 'guide', model, handlers: [guardrails({ output: (text) => (/rude/.test(text) ? { refuse: 'rude' } : undefined) })] })
 */
export function guardrails(options: GuardrailsOptions): AgentHandler {
  checkOptionNames(WHO, options, { output: true, toolResults: true, hold: true })
  const { output, toolResults, hold = 'sentence' } = options
  for (const [name, check] of Object.entries({ output, toolResults })) {
    checkOption(check === undefined || typeof check === 'function', WHO, `${name} must be a function`, check)
  }
  checkOption(Boolean(output ?? toolResults), WHO, 'expected output or toolResults', undefined)
  checkOption(['sentence', 'answer'].includes(hold), WHO, "hold must be 'sentence' or 'answer'", hold)
  return { name: WHO, ...(output && answers(output, hold === 'answer')), ...(toolResults && results(toolResults)) }
}

function answers(check: Check, whole: boolean): Pick<AgentHandler, 'wrapModelCall'> {
  return {
    wrapModelCall: (ctx, request, next) =>
      filteredAnswer(
        next(ctx.with(ANSWER_NOT_KEPT, true), request),
        request,
        () => new CheckedAnswer(ctx, check, whole),
      ) satisfies AsyncIterable<ModelPart>,
  }
}

function results(check: Check): Pick<AgentHandler, 'wrapInvokableToolCall' | 'wrapStreamableToolCall'> {
  return {
    wrapInvokableToolCall: async (ctx, input, next) => checkedResult(check, ctx, input, await next(ctx, input)),
    async wrapStreamableToolCall(ctx, input, next) {
      const call = await next(ctx, input)
      const result = call.result.then((made) => checkedResult(check, ctx, input, made))
      // The reader of the stream gets its error.
      result.catch(() => undefined)
      // Chunks would be seen before the check.
      const held = stream<string | Part>(async (sink) => {
        const chunks: (string | Part)[] = []
        await pipe(call.stream, { write: (chunk) => void chunks.push(chunk) })
        const passed = (await result) === (await call.result)
        if (passed) for (const chunk of chunks) await sink.write(chunk)
      })
      return { stream: held, result }
    },
  }
}

async function checkedResult(
  check: Check,
  ctx: RunContext,
  { name }: ToolCallInput,
  result: ToolCallResult,
): Promise<ToolCallResult> {
  const { content, display, data, error } = result
  const parts = [textOf(content), display, data === undefined ? undefined : JSON.stringify(data), error?.message]
  const text = parts.filter((part) => part !== undefined && part !== '').join('\n')
  if (text === '') return result
  try {
    const passed = applied(
      await check(text, { ctx, kind: 'result', before: '', tool: name }),
      text,
      `the result of ${name}`,
    )
    if (passed === text) return result
    const { content: _1, display: _2, data: _3, error: _4, ...rest } = result
    return { ...rest, content: passed, ...(error && { error: { code: error.code, message: passed } }) }
  } catch (failure) {
    if (!KernelError.is(failure, 'GUARDRAIL_REFUSED')) throw failure
    return { content: `Error: ${failure.message}`, error: failure.toJSON() }
  }
}
