import { chatModelAgent } from '@troupe/chat-model'
import { breakLoopTool, loop, parallel, runner, sequential } from '@troupe/flow'
import type { ChatModel } from '@troupe/kernel'

/** Writes a text, has it looked at from two sides at once, and works on it until the editor is content. */
export async function article(model: (role: string) => ChatModel, topic: string): Promise<string> {
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
  const { text } = await runner({
    agent: sequential({ name: 'desk', agents: [agent('writer', 'Write a short text.'), rounds] }),
  }).query(topic)
  return text
}
