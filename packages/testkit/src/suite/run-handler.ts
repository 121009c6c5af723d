import {
  type AgentConfig,
  type AgentHandler,
  type HistoryRewrite,
  KernelError,
  type Message,
  type ModelPart,
  type RunContext,
  type ToolMeta,
} from '@troupe/kernel'
import { hookOf } from '@troupe/kernel/kit'
import { fakeClock } from '../fake-clock.ts'
import { answer, callOf, REQUEST, streamOf } from './handler-stage.ts'
import { callContext, frozen, promptly } from './patience.ts'

/**
 * Calls the hooks of a handler as a whole run does; resolves to what each of them gave.
 * Contract: every message, answer and call of the run has its id in it, so that what comes from another run shows.
 */
export async function runHandler(
  handler: AgentHandler,
  runId: string,
  messages: readonly Message[],
  tools: readonly ToolMeta[],
  prepare: (ctx: RunContext) => RunContext,
): Promise<{ readonly [hook: string]: unknown }> {
  const given: { [hook: string]: unknown } = {}
  let ctx = prepare(callContext({ runId, clock: fakeClock() }))
  const asked: Message = { id: `${runId}-question`, role: 'user', content: `A question of ${runId}.` }
  const config: AgentConfig = {
    instruction: `Help ${runId}.`,
    tools: tools.slice(),
    input: { messages: frozen([...messages, asked]) },
    runOptions: {},
  }
  ctx = (await hookOf(handler, 'beforeAgent')?.(ctx, config)) ?? ctx
  const names = config.tools.map(({ tool, returnDirectly }) => [tool.name, returnDirectly])
  given.beforeAgent = [config.instruction, names, config.input.messages, config.runOptions]
  let history: readonly Message[] = config.input.messages
  const rewrite = async (hook: 'beforeModelRewriteHistory' | 'afterModelRewriteHistory') => {
    const rewritten: HistoryRewrite = await hookOf(handler, hook)?.(ctx, frozen(history.slice()))
    if (rewritten !== undefined && 'messages' in rewritten) ({ messages: history, ctx } = rewritten)
    else history = rewritten ?? history
    given[hook] = history
  }
  await rewrite('beforeModelRewriteHistory')
  given.wrapModelCall = await settled(async () => {
    const next = () => answer(`An answer to ${runId}`)
    const parts: ModelPart[] = []
    const request = { ...REQUEST, messages: history, idempotencyKey: `${runId}/model:0` }
    for await (const part of hookOf(handler, 'wrapModelCall')?.(ctx, request, next) ?? next()) parts.push(part)
    return parts
  })
  history = [...history, { id: `${runId}-answer`, role: 'assistant', content: `An answer to ${runId}.` }]
  await rewrite('afterModelRewriteHistory')
  const calls = [1, 2, 3].map((n) => callOf(`${runId}-call-${n}`, `${runId} ${n}`))
  given.wrapInvokableToolCall = []
  given.wrapStreamableToolCall = []
  for (const call of calls) {
    const content = `result of ${call.arguments}`
    const result = settled(() => hookOf(handler, 'wrapInvokableToolCall')?.(ctx, call, async () => ({ content })))
    ;(given.wrapInvokableToolCall as unknown[]).push(await result)
    const streamed = settled(async () => {
      const wrapped = await hookOf(handler, 'wrapStreamableToolCall')?.(ctx, call, async () => streamOf(content))
      if (!wrapped) return undefined
      const chunks: unknown[] = []
      for await (const chunk of wrapped.stream) chunks.push(chunk)
      return { chunks, result: await wrapped.result }
    })
    ;(given.wrapStreamableToolCall as unknown[]).push(await streamed)
  }
  const usage = { inputTokens: 1, outputTokens: 1 }
  await hookOf(handler, 'afterAgent')?.(
    ctx,
    frozen({ outcome: 'complete', messages: [], text: `${runId} is done.`, usage }),
  )
  return JSON.parse(JSON.stringify(given))
}

/** The outcome of a hook; the code of its error, if it asks a person or refuses. */
export async function settled(work: () => PromiseLike<unknown> | undefined): Promise<unknown> {
  const running = (async () => await work())()
  const outcome = await promptly('A hook of the handler did not settle', running)
  return 'error' in outcome ? { error: KernelError.from(outcome.error).code } : outcome.value
}
