import { chatModelAgent } from '@troupe/chat-model'
import type { Agent, ChatModel, Tool } from '@troupe/kernel'

/** Code with middlewares works unchanged. */
export function oldAgent(model: ChatModel, myTool: Tool): Agent {
  return chatModelAgent({
    name: 'MyAgent',
    description: 'A helpful agent',
    instruction: 'You help.',
    model,
    middlewares: [
      {
        additionalInstruction: 'Be concise.',
        additionalTools: [myTool],
        beforeChatModel(_ctx, state) {
          state.messages = state.messages.filter(({ id }) => id !== 'noise')
        },
      },
    ],
  })
}
