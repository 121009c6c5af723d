import type { AgentConfig, AgentHandler, RunContext, Tool, ToolMeta } from '@troupe/kernel'
import { hookOf } from '@troupe/kernel/kit'
import type { Clause } from '../clause.ts'
import { fakeClock } from '../fake-clock.ts'
import { demand, demandEqual } from '../fault.ts'
import { ECHO, HISTORY, streamOf } from './handler-stage.ts'
import { callContext, frozen } from './patience.ts'
import { settled } from './run-handler.ts'

/** The clauses about how often a tool that is not pure is executed. */
export function repeatClauses(
  make: () => AgentHandler,
  tools: readonly ToolMeta[],
  prepare: (ctx: RunContext) => RunContext,
): readonly Clause[] {
  const notPure = [...OWN, ...tools.map(({ tool }) => tool).filter(({ effect }) => effect !== 'pure')]
  const demandExecutedAgain = async (hook: (typeof WRAPS)[number], tool: Tool) => {
    const handler = make()
    for (const [i, made] of RUNS.entries()) {
      const alone = await callOnce(make(), hook, { ...made, tool, tools, prepare })
      const again = await callOnce(handler, hook, { ...made, tool, tools, prepare })
      const what =
        i === 0 ? `${made.runId} made a call` : `${made.runId} of ${made.user} made a call that an earlier run had made`
      const wrong = `The handler keeps state between runs: ${what}, and ${hook}`
      const executed = alone.executed === 0 || again.executed > 0
      demand(executed, `${wrong} did not execute the tool, which is not pure`)
      demandEqual(again.outcome, alone.outcome, `${wrong} changed the result`)
    }
  }
  return WRAPS.flatMap((hook) => [
    {
      name: `${hook} executes a call again that another run or another user made before, unless its tool is pure`,
      todo: "Let only a tool with `effect: 'pure'` be answered from memory: `if (input.tool?.effect !== 'pure') return next(ctx, input)`. Keep everything else that belongs to a run in its context, not in the handler.",
      run: async () => {
        if (!hookOf(make(), hook)) return `the handler has no ${hook}`
        for (const tool of notPure) await demandExecutedAgain(hook, tool)
      },
    },
    {
      name: `${hook} executes a call that succeeds at most once, unless its tool is pure`,
      todo: 'Call `next` once and keep what it gave. Call it again only after a result with `error`: a tool that pays would pay twice.',
      run: async () => {
        if (!hookOf(make(), hook)) return `the handler has no ${hook}`
        for (const tool of notPure) {
          const { executed } = await callOnce(make(), hook, { ...RUNS[0], tool, tools, prepare })
          demand(
            executed <= 1,
            `${hook} executed one call ${executed} times, though it succeeded and its tool is not pure`,
          )
        }
      },
    },
  ])
}

const WRAPS = ['wrapInvokableToolCall', 'wrapStreamableToolCall'] as const

/** One tool for each way of not being pure. */
const OWN = ([undefined, 'idempotent', 'once', 'nested'] as const).map((effect): Tool => {
  const { effect: _, ...tool } = ECHO
  return { ...tool, name: 'pay', description: 'Pays.', ...(effect && { effect }) }
})

const RUNS = [
  { runId: 'run-a', user: 'anna' },
  { runId: 'run-b', user: 'anna' },
  { runId: 'run-c', user: 'ben' },
] as const

interface MadeCall {
  readonly runId: string
  readonly user: string
  readonly tool: Tool
  readonly tools: readonly ToolMeta[]
  readonly prepare: (ctx: RunContext) => RunContext
}

/** Makes the same call in any run. Contract: each execution has a result of its own, which names the run. */
async function callOnce(
  handler: AgentHandler,
  hook: (typeof WRAPS)[number],
  { runId, user, tool, tools, prepare }: MadeCall,
): Promise<{ readonly executed: number; readonly outcome: unknown }> {
  const session = { app: 'app', user, threadId: `thread-of-${user}` }
  let ctx = prepare(callContext({ runId, session, clock: fakeClock() }))
  const others = tools.filter((meta) => meta.tool.name !== tool.name)
  const config: AgentConfig = {
    instruction: 'Help.',
    tools: [...others, Object.freeze({ tool, returnDirectly: false })],
    input: { messages: frozen(structuredClone(HISTORY)) },
    runOptions: {},
  }
  ctx = (await hookOf(handler, 'beforeAgent')?.(ctx, config)) ?? ctx
  const step = 'tool:0:0'
  const call = { name: tool.name, arguments: '{"text":"again"}', callId: 'call-1', step, tool }
  const input = { ...call, idempotencyKey: `${runId}/${step}` }
  let executed = 0
  const content = () => `result ${++executed} of ${runId}`
  const outcome = await settled(async () => {
    if (hook === 'wrapInvokableToolCall')
      return hookOf(handler, hook)?.(ctx, input, async () => ({ content: content() }))
    const wrapped = await hookOf(handler, hook)?.(ctx, input, async () => streamOf(content()))
    const chunks: unknown[] = []
    for await (const chunk of wrapped?.stream ?? []) chunks.push(chunk)
    return { chunks, result: await wrapped?.result }
  })
  // An execution that the handler did not wait for counts too.
  await new Promise((resolve) => setImmediate(resolve))
  return { executed, outcome }
}
