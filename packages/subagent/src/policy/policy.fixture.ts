import {
  type Agent,
  type Answers,
  defineTool,
  type Interrupt,
  type Json,
  KernelError,
  type Part,
  type RunContext,
  say,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
  type ToolOutput,
} from '@troupe/kernel'
import { parseArguments, toolResult } from '@troupe/kernel/kit'
import { type RunSettings, startRun } from '@troupe/kernel/run'
import { answersTo, jsonSchemaValidator } from '@troupe/testkit'
import { expect } from 'vitest'

/** A tool that notes what it was called with. */
export function noting(
  name: string,
  log: unknown[],
  more: Partial<Omit<Tool, 'name'>> = {},
): Tool & { invoke: NonNullable<Tool['invoke']> } {
  const invoke = (args: unknown) => {
    log.push(args)
    return `${name} done`
  }
  return defineTool({ name, description: name, parameters: { type: 'object' }, invoke, ...more }) as never
}

/** The outcome of one attempt of a call. */
export interface Attempt {
  readonly result?: ToolCallResult
  readonly error?: KernelError
  readonly chunks: readonly (string | Part)[]
  readonly interrupts: readonly Interrupt[]
}

/** The options of `callOf`. */
export interface CallOptions extends RunSettings {
  readonly args?: Json
  readonly callId?: string
}

/** A call that can be made again with all answers so far, each time in a new run and with its saved state as JSON, as after a restart. */
export interface Call {
  /** Contract: answers are by the call that asks, and reach the questions of the attempt before. */
  attempt(tool: Tool, answers?: Answers): Promise<Attempt>
}

/** Makes calls like an agent that does not support `needsApproval`. */
export function callOf({ args = {}, callId = 'c1', ...settings }: CallOptions = {}): Call {
  let known: Answers = {}
  let saved: Json | undefined
  let attempts = 0
  let open: readonly Interrupt[] = []
  return {
    async attempt(tool, answers = {}) {
      known = { ...known, ...answersTo(open, answers) }
      const interrupts: Interrupt[] = []
      open = interrupts
      const chunks: (string | Part)[] = []
      let settled: Pick<Attempt, 'result' | 'error'> = {}
      const agent: Agent = {
        name: 'caller',
        description: 'Calls one tool.',
        async *run(_, outer) {
          const ctx = outer.derive({
            step: 'tool:0:0',
            call: {
              callId,
              answers: known,
              ...(saved !== undefined && { saved }),
              onAction() {},
              onInterrupt(raised, state) {
                interrupts.push(...raised)
                saved = state === undefined ? undefined : JSON.parse(JSON.stringify(state))
              },
            },
          })
          settled = await settle(tool, args, ctx, callId, chunks)
          yield* say(outer, 'done')
        },
      }
      const run = startRun(agent, { messages: [] }, { canInterrupt: true, runId: `R${++attempts}`, ...settings })
      await Promise.resolve(run).catch(() => undefined)
      return { ...settled, chunks, interrupts }
    },
  }
}

async function settle(
  tool: Tool,
  args: Json,
  ctx: RunContext,
  callId: string,
  chunks: (string | Part)[],
): Promise<Pick<Attempt, 'result' | 'error'>> {
  const text = JSON.stringify(args)
  const call: ToolCallInput = { name: tool.name, arguments: text, callId, step: ctx.step, idempotencyKey: callId, tool }
  try {
    const value = await parseArguments(tool, text, jsonSchemaValidator)
    if (!tool.stream || tool.longRunning) return { result: resultOf(await tool.invoke?.(value, ctx, call)) }
    const iterator = tool.stream(value, ctx, call)[Symbol.asyncIterator]()
    for (;;) {
      const step = await iterator.next()
      if (step.done) return { result: resultOf(step.value) }
      chunks.push(step.value)
    }
  } catch (error) {
    return { error: KernelError.from(error) }
  }
}

function resultOf(output: ToolOutput | void): ToolCallResult {
  return toolResult('t', output)
}

/** Gives the error code of a result. */
export const codeOf = ({ result }: Attempt): string | undefined => result?.error?.code

/** Waits until all pending promises and immediates have run. */
export async function idle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** For `beforeEach`: fails a test that leaves an unhandled rejection. */
export function noUnhandledRejection(): () => Promise<void> {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  return async () => {
    await idle()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  }
}
