import { chatModelAgent } from '@troupe/chat-model'
import { agentTool } from '@troupe/flow'
import { historyBudget, logging, toolCache, toolCallLimit, truncateResults } from '@troupe/handlers'
import { type AgentHandler, defineTool, type Tool } from '@troupe/kernel'
import { type ScriptedTurn, scriptedModel, testReplay } from '@troupe/testkit'

const calling = (...names: readonly string[]): ScriptedTurn => ({ toolCalls: names.map((name) => ({ name })) })

const toolOf = (name: string, result: () => string, options: Partial<Tool> = {}): Tool => ({
  ...defineTool({ name, description: name, parameters: { type: 'object' }, invoke: result }),
  ...options,
})

const tools = [toolOf('look', () => 'A cat.'), toolOf('watch', () => 'A dog. '.repeat(100), { effect: 'pure' })]

/** Everything that a process makes anew: the agent, its model and its handlers. */
const agentOf = (
  script: { readonly [step: string]: ScriptedTurn },
  handlers: readonly AgentHandler[],
  options: { readonly tools?: readonly Tool[]; readonly toolConcurrency?: number } = {},
) => chatModelAgent({ name: 'a', model: scriptedModel(script), tools, ...options, handlers })

testReplay('toolCallLimit, over several turns', () =>
  agentOf(
    {
      'model:0': calling('look'),
      'model:1': calling('watch', 'look'),
      'model:2': calling('look', 'watch'),
      'model:3': 'Done.',
    },
    [toolCallLimit({ perRun: 4, perTool: { look: 2 } })],
  ),
)

for (const toolConcurrency of [1, 10]) {
  testReplay(`toolCallLimit, in one turn of which ${toolConcurrency} calls run at once`, () =>
    agentOf(
      { 'model:0': calling('look', 'look', 'look', 'watch', 'watch'), 'model:1': 'Done.' },
      [toolCallLimit({ perRun: 3, perTool: { look: 2 } })],
      { toolConcurrency },
    ),
  )
}

/** An agent as a tool; it is not recorded as one step, so its wraps run again in a replay. */
const inner = () =>
  agentTool(chatModelAgent({ name: 'inner', description: 'Helps.', model: scriptedModel({ 'model:0': 'Hi.' }) }), {
    parameters: { type: 'object' },
  })

testReplay('toolCallLimit, with a tool that runs an agent', () =>
  agentOf(
    { 'model:0': calling('look', 'inner', 'look'), 'model:1': calling('inner'), 'model:2': 'Done.' },
    [toolCallLimit({ perTool: { look: 1 }, perRun: 2 })],
    { tools: [...tools, inner()] },
  ),
)

testReplay('toolCallLimit, reached by calls before that of an agent', () =>
  agentOf({ 'model:0': calling('look', 'inner', 'look'), 'model:1': 'Done.' }, [toolCallLimit({ perRun: 1 })], {
    tools: [...tools, inner()],
  }),
)

let summaries = 0
testReplay(
  'historyBudget, whose summary is not made again',
  () =>
    agentOf(
      { 'model:0': calling('watch'), 'model:1': calling('watch'), 'model:2': calling('watch'), 'model:3': 'Done.' },
      [
        historyBudget({ maxTokens: 400, summarize: async () => `summary ${++summaries}` }),
        {
          name: 'says the summary',
          beforeModelRewriteHistory(ctx, messages) {
            for (const { content } of messages) {
              if (String(content).startsWith('Summary')) ctx.state.set('summary', String(content))
            }
          },
        },
      ],
    ),
  { input: { messages: [{ id: 'u1', role: 'user', content: 'Watch, and tell.' }] } },
)

testReplay('toolCache, logging and truncateResults', () =>
  agentOf({ 'model:0': calling('watch', 'watch'), 'model:1': calling('watch', 'look'), 'model:2': 'Done.' }, [
    logging({ log: () => undefined }),
    truncateResults({ maxChars: 100 }),
    toolCache(),
  ]),
)
