import { chatModelAgent } from '@troupe/chat-model'
import { breakLoopTool, loop, parallel, runner, sequential } from '@troupe/flow'
import type { ChatModel } from '@troupe/kernel'

/** Writes a text, gets two reviews in parallel, and improves the text until the editor is satisfied. */
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
