import { chatModelAgent } from '@troupe/chat-model'
import { breakLoopTool, loop, parallel, sequential } from '@troupe/flow'
import type { Agent, ChatModel } from '@troupe/kernel'

/** Writes a text, gets two reviews in parallel, and improves the text until the editor is satisfied. */
export function newsDesk(model: (role: string) => ChatModel): Agent {
  const agent = (name: string, instruction: string) => chatModelAgent({ name, model: model(name), instruction })
  const editor = chatModelAgent({
    name: 'editor',
    model: model('editor'),
    instruction: 'Improve the text. When nothing is left to improve, respond with it.',
    tools: [breakLoopTool()],
  })
  const reviews = parallel({
    name: 'reviews',
    agents: [agent('facts', 'Is it true?'), agent('style', 'Is it well written?')],
    onError: 'continue',
  })
  const rounds = loop({ name: 'rounds', agents: [reviews, editor], maxIterations: 3 })
  return sequential({ name: 'desk', agents: [agent('writer', 'Write a short text.'), rounds] })
}
