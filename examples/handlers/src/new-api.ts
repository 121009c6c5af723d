import { chatModelAgent } from '@troupe/chat-model'
import {
  type Agent,
  type ChatModel,
  type Tool,
  withBeforeAgent,
  withBeforeModelRewriteHistory,
  withInstruction,
  withInvokableToolWrapper,
  withTools,
} from '@troupe/kernel'

/** Helpers for the simple cases, hooks for the others, all in one list. */
export function newAgent(model: ChatModel, tools: readonly Tool[], myTool: Tool, log: (line: string) => void): Agent {
  return chatModelAgent({
    name: 'MyAgent',
    description: 'A helpful agent',
    instruction: 'You help.',
    model,
    tools,
    handlers: [
      withInstruction('Be concise.'),
      withTools(myTool),
      withBeforeAgent((ctx, config) => {
        config.instruction += `\nThe user is ${ctx.session.user}.`
        config.tools = config.tools
          .filter(({ tool }) => tool.name !== 'dangerous_tool')
          .map((meta) => (meta.tool.name === 'final_answer' ? { ...meta, returnDirectly: true } : meta))
      }),
      withBeforeModelRewriteHistory((_ctx, messages) => messages.filter(({ id }) => id !== 'noise')),
      withInvokableToolWrapper(async (ctx, input, next) => {
        log(`Calling tool: ${input.name} (callId: ${input.callId})`)
        const result = await next(ctx, input)
        log(`Tool result: ${result.content}`)
        return result
      }),
    ],
  })
}
